import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeSdk, type Sdk } from '../support/python.ts';
import { call } from '../support/app.ts';
import type { Span } from './views.ts';
import { World, handleFor } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(() => world.close(), 60_000);

/** The versions that ship the hook: a process for each event of a Claude Code session, with no worker around it. */
const VERSIONS = ['0.1.1', '0.2.0'];

await describeSdk('the Claude Code hook', (sdk) => describe('a session', () => sessionsOf(sdk)), VERSIONS);

/**
 * The hook as it was published. Only what its package loads beside it is left out: that wants the SDK of Claude, of which the
 * hook uses nothing.
 */
const RUN_HOOK = `
import importlib.util, runpy, sys, types
name = "komodor_agentops.adapters.claude_code"
package = types.ModuleType(name)
adapters = importlib.util.find_spec("komodor_agentops.adapters").submodule_search_locations
package.__path__ = [path + "/claude_code" for path in adapters]
sys.modules[name] = package
runpy.run_module(name + ".hook", run_name="__main__")
`;

interface Hooked {
  readonly code: number | null;
  readonly stderr: string;
}

function sessionsOf(sdk: Sdk): void {
  const handle = handleFor(sdk, 'claude-code');
  const session = randomUUID();
  const runId = `cc_${session}`;
  const project = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox-cc-'));
  let token: string;

  /** The agent is there; of the hook itself nothing is. */
  beforeAll(async () => {
    token = await world.token(handle);
    const payload = {
      manifest: { agent_id: handle, name: handle, wire_protocol_version: 2 },
      skills: [],
      skills_hash: '',
    };
    const frame = { id: 'msg_1', type: 'register', needsReply: true, payload };
    const frames = `/api/v1/workers/wrk_${session}/frames`;
    expect((await call(world.server.url, 'POST', frames, { key: token, body: frame })).status).toBe(200);
  });
  afterAll(() => fs.rmSync(project, { recursive: true, force: true }));

  /** Calls the hook as Claude Code does: one event on its standard input. */
  function hook(event: string, more: object = {}): Promise<Hooked> {
    const child = spawn(sdk.python, ['-c', RUN_HOOK], {
      cwd: project,
      env: {
        PATH: process.env['PATH'],
        AGENTOPS_URL: world.server.url,
        AGENTOPS_WORKER_TOKEN: token,
        AGENTOPS_AGENT_ID: handle,
      },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdin.end(JSON.stringify({ session_id: session, cwd: project, hook_event_name: event, ...more }));
    return new Promise((done) => child.on('close', (code) => done({ code, stderr })));
  }
  const said = async (event: string, more: object = {}): Promise<void> =>
    expect({ event, ...(await hook(event, more)) }).toEqual({ event, code: 0, stderr: '' });

  it('is one run from its start to its stop, with what was said and done in between', async () => {
    await said('SessionStart', { source: 'startup' });
    expect(await world.run(runId)).toMatchObject({
      status: 'running',
      input: { session_id: session, source: 'startup' },
      worker_id: expect.stringMatching(/^wrk_cc_/),
    });
    await said('SessionStart', { source: 'resume' }); // the same session
    const bash = { tool_name: 'Bash', tool_use_id: 'toolu_1', tool_input: { command: 'ls' } };
    const read = { tool_name: 'Read', tool_use_id: 'toolu_2', tool_input: { file_path: 'none' } };
    await said('UserPromptSubmit', { prompt: 'List the files' });
    await said('PreToolUse', bash);
    await said('PostToolUse', { ...bash, tool_response: { stdout: 'README.md' } });
    await said('PreToolUse', read);
    await said('PostToolUseFailure', { ...read, error: 'no such file' });
    await said('Notification', { message: 'Claude is waiting' });
    await said('Stop', { last_assistant_message: 'There is one.' });
    await said('SessionEnd', { reason: 'exit' });
    const run = await world.run(runId);
    expect(run).toMatchObject({
      status: 'succeeded',
      input: { source: 'startup' },
      output: { title: 'Claude session', summary: 'There is one.' },
      attempt: 1,
    });
    expect(run.messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'user: List the files',
      'tool: Bash',
      'tool: Bash returned',
      'tool: Read',
      'tool: Read failed: no such file',
      'assistant: There is one.',
    ]);
    expect(run.log_events.map(({ message }) => message)).toEqual(['Claude is waiting']);
    const spans = await world.rest.ask<Span[]>('GET', `/api/v1/runs/${runId}/spans`);
    expect(spans).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ span_id: 'toolu_1', kind: 'tool', name: 'Bash', status: 'ok' }),
        expect.objectContaining({ span_id: 'toolu_2', kind: 'tool', name: 'Read', status: 'error' }),
      ]),
    );
  }, 240_000);

  it('that goes on after its stop never breaks the harness: the first end stands, the rest is kept beside it', async () => {
    await said('UserPromptSubmit', { prompt: 'And now?' });
    const second = await hook('Stop', { last_assistant_message: 'Another end.' });
    expect(second).toEqual({ code: 0, stderr: expect.stringContaining('409') });
    expect(await world.run(runId)).toMatchObject({ status: 'succeeded', output: { summary: 'There is one.' } });
    const late = await world.rest.ask<{ why: string; kind: string }[]>('GET', `/api/v1/runs/${runId}/late`);
    expect(late).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ why: 'after_end', kind: 'event' }),
        expect.objectContaining({ why: 'after_end', kind: 'terminal' }),
      ]),
    );
  }, 120_000);
}
