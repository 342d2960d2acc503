import type { Row } from './row.ts';
import { invokeToStart } from './rows/b-1-invoke-to-start.ts';
import { runList } from './rows/b-9-run-list.ts';
import { runPage } from './rows/b-10-run-page.ts';
import { ingest } from './rows/b-4-ingest.ts';
import { liveEvents } from './rows/b-5-live-events.ts';
import { agentList } from './rows/b-18-agent-list.ts';
import { steadyInvokes } from './rows/b-2-steady-invokes.ts';
import { reconnectStorm } from './rows/b-15-reconnect-storm.ts';
import { startAndIdle } from './rows/b-14-start-and-idle.ts';
import { overload } from './rows/b-7-overload.ts';
import { killedWorker } from './rows/b-8-killed-worker.ts';
import { idleWorkers } from './rows/b-6-idle-workers.ts';
import { wholeRun } from './rows/b-3-whole-run.ts';

/** Every row there is, in the order they run. */
export const ROWS: readonly Row[] = [
  invokeToStart,
  steadyInvokes,
  wholeRun,
  ingest,
  liveEvents,
  idleWorkers,
  overload,
  killedWorker,
  runList,
  runPage,
  startAndIdle,
  reconnectStorm,
  agentList,
];
