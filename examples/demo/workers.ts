/** Starts the workers of the demo: ours in TypeScript, and one of the public Python SDK. */

import path from 'node:path';
import type { Api } from './api.ts';
import { Child, environmentWith } from './children.ts';
import { DATA_DIRECTORY } from './control-plane.ts';
import { dim, line } from './print.ts';

/** From `dist/examples/demo/` to the files as they are in the repository. */
const EXAMPLES = path.join(import.meta.dirname, '../../../examples');
const TYPESCRIPT_WORKER = path.join(import.meta.dirname, '../agents/glossary.js');
const PYTHON_WORKER = path.join(EXAMPLES, 'python/worker.py');

/** A worker process does not go through a proxy to reach the control plane next to it. */
const DIRECT = { NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' };

/** The SDK logs each request it makes. Only what is out of the ordinary belongs on the screen. */
const ROUTINE = / (DEBUG|INFO) /;

const ONLINE_PATIENCE_MS = 30_000;

/** The interface that workers are started over, and the list they are put into so that somebody ends them. */
export interface Workshop {
  readonly api: Api;
  readonly workers: Child[];
}

/** Starts our worker, which serves the agent `demo`. Resolves when it takes runs. */
export async function startDemoWorker(workshop: Workshop): Promise<void> {
  await startWorker(workshop, 'demo', { command: [process.execPath, TYPESCRIPT_WORKER], environment: {} });
}

/** Starts the worker of the Python SDK, which serves `demo-python`. `python` is an interpreter that has the SDK. */
export async function startPythonWorker(workshop: Workshop, python: string): Promise<void> {
  const environment = {
    AGENTOPS_WORKER_HOST: '127.0.0.1',
    AGENTOPS_WORKER_PORT: '0', // its health probe: on any free port
    AGENTOPS_LIVENESS_FILE: path.resolve(DATA_DIRECTORY, 'python/worker.alive'),
  };
  await startWorker(workshop, 'demo-python', { command: [python, PYTHON_WORKER], environment });
}

interface WorkerProgram {
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

async function startWorker({ api, workers }: Workshop, agentId: string, program: WorkerProgram): Promise<void> {
  const { token } = await api.post<{ token: string }>('/agents/worker-token', { agentId });
  const connection = { AGENTOPS_URL: api.url, AGENTOPS_WORKER_TOKEN: token, AGENTOPS_AGENT_ID: agentId };
  const worker = new Child(program.command, {
    environment: environmentWith({ ...DIRECT, ...connection, ...program.environment }),
    onLine: (text) => {
      if (!ROUTINE.test(text)) line(dim(`${agentId} │ ${text}`));
    },
  });
  workers.push(worker);
  const ended = worker.ended.then((code) =>
    Promise.reject(new Error(`the worker of ${agentId} ended with exit code ${code}`)),
  );
  await Promise.race([api.agentOnline(agentId, ONLINE_PATIENCE_MS), ended]);
}
