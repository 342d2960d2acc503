/**
 * Signalbox in one command: starts the control plane and a worker, invokes the agent, shows what is on the record, and
 * stays up to be tried. Ctrl-C ends everything that was started.
 */

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Api, type AuditEntry, type RunSummary, type SpanSkeleton, type StatusChange } from './demo/api.ts';
import type { Child } from './demo/children.ts';
import { ControlPlane, KEY_FILE, readKey } from './demo/control-plane.ts';
import { dim, heading, line, printAudit, printSpans, printStates, printUsage } from './demo/print.ts';
import { installSdk, installedSdk } from './demo/python.ts';
import { startDemoWorker, startPythonWorker, type Workshop } from './demo/workers.ts';
import { startSignInProvider, type SignInProvider } from './sign-in-provider.ts';

const HELP = `npm run demo: the control plane, a worker and a first run.

  PORT, HOST, DATABASE_URL, …   settings of the control plane, passed on to it
  SIGNALBOX_DATA_DIR            where everything is kept (.signalbox)
  SIGNALBOX_DEMO_PYTHON=off     leaves out the worker of the Python SDK
  SIGNALBOX_DEMO_EXIT=1         ends after the tour instead of staying up

Ctrl-C ends everything that was started. What was recorded is kept for the next start.`;

/** The same at each start: people are known by who vouched for them. */
const PROVIDER_PORT = 18_181;
const PROMPT = 'What is a run, and what is a worker?';
/** Enough for our worker to finish a run; an idle worker of the Python SDK would take up to 10 s to notice. */
const WORKER_STOP_MS = 3_000;
/** The control plane drains in under 10 s and then stops its database. */
const CONTROL_PLANE_STOP_MS = 15_000;

/** The reason for ending when somebody asked for it. */
const STOPPED = new Error('stopped');

/** What there is to work with once the control plane is up. */
interface Stage extends Workshop {
  readonly key: string;
  /** Aborted when the demo is over; the reason says why. */
  readonly over: AbortSignal;
}

async function main(): Promise<number> {
  const over = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => over.abort(STOPPED));
  const workers: Child[] = [];
  const provider = await signInProvider();
  const controlPlane = new ControlPlane((reason) => over.abort(reason), provider ? settingsFor(provider) : {});
  try {
    heading('Starting the control plane');
    const url = await controlPlane.ready(over.signal);
    line(`${url} is ready`);
    provider?.serve(url);
    const key = await readKey();
    const stage: Stage = { api: new Api(url, key, over.signal), key, workers, over: over.signal };
    const runId = await tour(stage);
    await pythonTour(stage);
    printWhatNext(stage, runId, provider !== undefined);
    if (process.env['SIGNALBOX_DEMO_EXIT'] !== '1') await untilOver(over.signal);
    return 0;
  } catch (error) {
    await pause(300); // a broken connection may be the first sign that the control plane ended: its reason is better
    const reason: unknown = over.signal.aborted ? over.signal.reason : error;
    if (reason === STOPPED) {
      heading('Ending the workers, then the control plane');
      return 0;
    }
    console.error(`\nThe demo cannot go on: ${reason instanceof Error ? reason.message : String(reason)}`);
    return 1;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop(WORKER_STOP_MS)));
    await controlPlane.child.stop(CONTROL_PLANE_STOP_MS);
    await provider?.stop();
  }
}

/** So that a browser can sign in without an outside provider; none where the control plane is given one, or the port is taken. */
async function signInProvider(): Promise<SignInProvider | undefined> {
  if (process.env['SIGNALBOX_OIDC_ISSUER']) return undefined;
  return startSignInProvider(PROVIDER_PORT).catch(() => undefined);
}

function settingsFor({ issuer, clientId, clientSecret }: SignInProvider): Readonly<Record<string, string>> {
  return {
    SIGNALBOX_OIDC_ISSUER: issuer,
    SIGNALBOX_OIDC_CLIENT_ID: clientId,
    SIGNALBOX_OIDC_CLIENT_SECRET: clientSecret,
  };
}

/** A run of the agent `demo`, from its invocation to its record. Answers the run's id. */
async function tour(stage: Stage): Promise<string> {
  const { api } = stage;
  const [before] = await api.get<AuditEntry[]>('/audit?limit=1');

  heading('Starting a worker for the agent “demo”');
  await startDemoWorker(stage);
  line('online');

  heading(`Invoking it: ${PROMPT}`);
  const run = await invokeAndPrint(api, PROMPT);
  line(dim(`${run.run_id} ${run.status}${run.error ? `: ${run.error}` : ''}`));

  heading('On the record: its states');
  const states: StatusChange[] = [];
  for await (const { event, data } of api.stream(`/runs/${run.run_id}/stream?follow=false`)) {
    if (event === 'run.status') states.push(data as StatusChange);
  }
  printStates(states);
  heading('On the record: its spans');
  printSpans(await api.get<SpanSkeleton[]>(`/runs/${run.run_id}/spans`));
  heading('On the record: its usage');
  printUsage((await api.get<RunSummary>(`/runs/${run.run_id}`)).usage);
  heading('In the audit log: who did what');
  printAudit(await auditSince(api, before));
  return run.run_id;
}

/** Invokes the agent and prints its answer as it comes. */
async function invokeAndPrint(api: Api, prompt: string): Promise<RunSummary> {
  process.stdout.write('  ');
  for await (const { event, data } of api.stream('/agents/demo/invoke?stream=true', { input: { prompt } })) {
    if (event === 'message.delta') {
      const { delta, reset } = data as { delta: string; reset?: boolean };
      process.stdout.write(reset ? `\n  ${delta}` : delta);
    } else if (event === 'done') {
      process.stdout.write('\n');
      return data as RunSummary;
    }
  }
  throw new Error('the stream of the run ended before the run did');
}

/** What the audit log has gained since `before`, oldest first; without our own reading of it, which is audited too. */
async function auditSince(api: Api, before: AuditEntry | undefined): Promise<readonly AuditEntry[]> {
  const newestFirst = await api.get<AuditEntry[]>('/audit?limit=50');
  const known = newestFirst.findIndex((entry) => entry.id === before?.id);
  const gained = known < 0 ? newestFirst : newestFirst.slice(0, known);
  return gained.filter((entry) => entry.category !== 'audit').reverse();
}

/** The same with the public Python SDK. Where the machine cannot have it, a sentence says so and the demo goes on. */
async function pythonTour(stage: Stage): Promise<void> {
  const { api, over } = stage;
  if (process.env['SIGNALBOX_DEMO_PYTHON'] === 'off') return;
  heading('Starting a worker of the Python SDK for the agent “demo-python”');
  try {
    const installed = await installedSdk(over);
    if (!installed) line(dim('installing the SDK, for which two minutes are allowed'));
    await startPythonWorker(stage, installed ?? (await installSdk(over)));
    line('online');
    const run = await api.post<RunSummary>('/agents/demo-python/invoke', { input: { prompt: PROMPT } });
    line(run.output?.text ?? `${run.status}: ${run.error ?? 'no answer'}`);
  } catch (error) {
    over.throwIfAborted();
    line(`The Python worker is left out: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function printWhatNext({ api, key }: Stage, runId: string, hasSignIn: boolean): void {
  const call = `curl -sN -H "Authorization: Bearer $(cat '${KEY_FILE}')"`;
  heading('Signalbox is up');
  line(`URL      ${api.url}`);
  line(`API key  ${key}  ${dim(`kept in ${KEY_FILE}`)}`);
  if (hasSignIn) line(`Sign in  ${api.url}/auth/start?next=/api/docs  ${dim('as owner@localhost, with any password')}`);
  heading('To try');
  line(`${call} -H 'Content-Type: application/json' -d '{"input":{"prompt":"What is a span?"}}' \\`);
  line(`  ${api.url}/api/v1/agents/demo/invoke`);
  line(`${call} '${api.url}/api/v1/runs?limit=5'`);
  line(`${call} ${api.url}/api/v1/runs/${runId}/stream`);
  console.log('\nCtrl-C ends everything.');
}

async function untilOver(over: AbortSignal): Promise<never> {
  over.throwIfAborted();
  await once(over, 'abort');
  throw over.reason;
}

if (process.argv.includes('--help')) console.log(HELP);
else process.exitCode = await main();
