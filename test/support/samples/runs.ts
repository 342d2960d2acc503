import { downloadArtifact } from '../../../src/evidence/artifacts/artifacts.contract.ts';
import { createArtifact, updateArtifact, writeArtifact } from '../../../src/evidence/artifacts/writing.contract.ts';
import { searchEvidence } from '../../../src/evidence/search/search.contract.ts';
import { listSkills } from '../../../src/evidence/skills/skills.contract.ts';
import { getTree } from '../../../src/evidence/tree/tree.contract.ts';
import { agentActivity, workspaceActivity } from '../../../src/runs/activity/activity.contract.ts';
import { reviveRun } from '../../../src/runs/threads/threads.contract.ts';
import { sample } from './sample.ts';

const REPORT = { name: 'report.md', content: '# All is well', mime_type: 'text/markdown' };

export const runSamples = [
  sample(createArtifact, async (tenant) => {
    const agent = await tenant.agent();
    return { path: { run_id: await tenant.startedRun(agent) }, body: REPORT, token: agent.token };
  }),
  sample(updateArtifact, async (tenant) => {
    const agent = await tenant.agent();
    const runId = await tenant.startedRun(agent);
    const { artifact_id } = await tenant.frame(agent, 'artifact_write_request', { run_id: runId, ...REPORT });
    return { path: { run_id: runId, artifact_id }, body: { ...REPORT, content: '# Or is it' }, token: agent.token };
  }),
  sample(writeArtifact, async (tenant) => {
    const agent = await tenant.agent();
    const body = { run_id: await tenant.startedRun(agent), ...REPORT };
    return { path: { worker_id: agent.workerId }, body, token: agent.token };
  }),
  sample(downloadArtifact, async (tenant) => {
    const { runId, artifactId } = await tenant.recordedRun(await tenant.agent());
    return { path: { run_id: runId, artifact_id: artifactId } };
  }),
  sample(reviveRun, async (tenant) => {
    const agent = await tenant.agent();
    const runId = await tenant.startedRun(agent);
    await tenant.frame(agent, 'run_completed', { run_id: runId, output: {}, snapshot: { turns: 1 } });
    return { path: { run_id: runId }, body: { input: { prompt: 'and then?' } } };
  }),
  sample(agentActivity, async (tenant) => ({
    path: { agent_id: (await tenant.agent()).handle },
    query: { window_days: 7 },
  })),
  sample(listSkills, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
  })),
  sample(searchEvidence, async () => ({ query: { q: 'walk the operations', limit: 5 } })),
  sample(workspaceActivity, async () => ({ query: { window_days: 7 } })),
  sample(getTree, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
    query: { depth: 2 },
  })),
];
