import { setTimeout as sleep } from 'node:timers/promises';
import { Crew, invoke, mintToken } from '../client/crew.ts';
import { JsonClient } from '../client/json-client.ts';
import { Crowd } from '../crowd/crowd.ts';
import type { Conduct } from '../crowd/orders.ts';
import { rounds } from '../pairs.ts';
import { alone, type Figure } from '../report/figure.ts';
import type { Form, Measurement, Row } from '../row.ts';
import type { Product } from '../stage/product.ts';
import type { Stage } from '../stage/stage.ts';
import { quantile } from '../statistics.ts';

/** Workers killed in one round while their run is claimed, and as many while it is running. */
const VICTIMS: Readonly<Record<Form, number>> = { full: 3, short: 2 };
/** Between two kills: the sweeps of the server should find them at different distances. */
const APART_MS = 700;
/** Longer than any run may take to be with another worker, so that a miss is a figure and no failure. */
const PATIENCE_MS = 55_000;
const TAKEN_POLL_MS = 50;
const TAKEN_LIMIT_MS = 30_000;

type Stand = 'claimed' | 'running';
const CONDUCT: Readonly<Record<Stand, Conduct>> = { claimed: 'never starts it', running: 'never ends it' };

/** One kill. */
interface Loss {
  readonly stand: Stand;
  /** From the kill until another worker had claimed the run; the patience when none did. */
  readonly seconds: number;
  /** How often the run was executed beyond once. */
  readonly duplicates: number;
}

/** One agent whose worker is about to die, and the one who will take over. */
interface Scene {
  readonly stand: Stand;
  readonly victim: Crowd;
  readonly rescuer: Crew;
  readonly answer: Promise<string | undefined>;
}

/** B-8: how long a run stays with a worker that is no more. */
export const killedWorker: Row = {
  id: 'B-8',
  work: 'worker killed with -9 → its run is with another worker: claimed, and running with retry at once',
  inShortForm: false,
  measure,
};

async function measure(stage: Stage): Promise<Measurement> {
  const product = await stage.startProduct();
  const losses: Loss[][] = [];
  while (losses.length < rounds(stage.form)) {
    const round = losses.length + 1;
    stage.say(
      `round ${round} of ${rounds(stage.form)}: ${VICTIMS[stage.form]} claimed, ${VICTIMS[stage.form]} running`,
    );
    losses.push(await killSome(stage, product, round));
  }
  return { figures: figures(losses), notes: notes(losses) };
}

async function killSome(stage: Stage, product: Product, round: number): Promise<Loss[]> {
  const caller = new JsonClient(product.url, product.apiKey);
  stage.afterwards(async () => caller.close());
  const agents = Array.from({ length: VICTIMS[stage.form] }, (_, index) => `kill-${round}-${index}`);
  const scenes = await Promise.all(
    agents.flatMap((agent) => [
      arrange(stage, { product, caller, stand: 'claimed', agent: `${agent}-claimed` }),
      arrange(stage, { product, caller, stand: 'running', agent: `${agent}-running` }),
    ]),
  );
  const losses = await Promise.all(
    scenes.map(async (scene, index) => {
      await sleep(index * APART_MS);
      return kill(scene);
    }),
  );
  await Promise.all(scenes.map(({ rescuer }) => rescuer.leave()));
  return losses;
}

/** Has a worker take a run and hold it; only then another one joins, so that it cannot have taken the run first. */
async function arrange(
  stage: Stage,
  {
    product,
    caller,
    stand,
    agent,
  }: { readonly product: Product; readonly caller: JsonClient; readonly stand: Stand; readonly agent: string },
): Promise<Scene> {
  const token = await mintToken(caller, agent);
  const victim = Crowd.start();
  stage.afterwards(() => victim.kill());
  const { url } = product;
  await victim.ask({ do: 'open', url, agents: [{ handle: agent, token }], conduct: CONDUCT[stand], upTo: 1 });
  await victim.ask({ do: 'register' });
  await victim.ask({ do: 'work' });
  if (stand === 'running') await retryAtOnce(caller, agent); // the agent is there since its worker has registered
  const answer = invoke(caller, agent).catch(() => undefined);
  await untilHeld(caller, agent, stand);
  const rescuer = await Crew.join(product, { size: 1, sendsEvents: false, agent, token });
  stage.afterwards(() => rescuer.leave());
  return { stand, victim, rescuer, answer };
}

/** Two starts: the one that is lost, and the one after it. */
async function retryAtOnce(caller: JsonClient, agent: string): Promise<void> {
  const retry = { on: ['worker_lost'], max_attempts: 2, backoff_seconds: 0 };
  await caller.call('PUT', `/api/v1/agents/${agent}/policy`, { retry });
}

async function untilHeld(caller: JsonClient, agent: string, stand: Stand): Promise<void> {
  const deadline = performance.now() + TAKEN_LIMIT_MS;
  const path = `/api/v1/runs?agent_id=${agent}&status=${stand}`;
  for (;;) {
    const { body } = await caller.send('GET', path);
    if (Array.isArray(body) && body.length > 0) return;
    if (performance.now() > deadline) throw new Error(`no run of ${agent} is ${stand}: ${JSON.stringify(body)}`);
    await sleep(TAKEN_POLL_MS);
  }
}

async function kill({ stand, victim, rescuer, answer }: Scene): Promise<Loss> {
  const [worker] = rescuer.workers;
  if (worker === undefined) throw new Error('there is nobody to take over');
  const taken = worker.nextStart();
  const killedAt = performance.now();
  await victim.kill();
  const times = await rescuer.whileHealthy(Promise.race([taken, sleep(PATIENCE_MS, undefined, { ref: false })]));
  if (times === undefined) return { stand, seconds: PATIENCE_MS / 1000, duplicates: 0 };
  const runId = await answer;
  await worker.idle();
  if (runId === undefined || !worker.executed.includes(runId))
    throw new Error(`the run that was ${stand} did not end with the worker that took it over`);
  return { stand, seconds: (times.claimed - killedAt) / 1000, duplicates: worker.executed.length - 1 };
}

function figures(losses: readonly (readonly Loss[])[]): readonly Figure[] {
  const secondsOf = (round: readonly Loss[], stand?: Stand) =>
    round.filter((loss) => stand === undefined || loss.stand === stand).map(({ seconds }) => seconds);
  const atMost = (name: string, unit: string, limit: number, of: (round: readonly Loss[]) => number) =>
    alone({ name, unit, target: { of: 'product', is: 'at most', limit } }, losses.map(of));
  return [
    atMost('claimed, p50', 's', 8, (round) => quantile(secondsOf(round, 'claimed'), 0.5)),
    atMost('running, p50', 's', 17, (round) => quantile(secondsOf(round, 'running'), 0.5)),
    alone({ name: 'slowest of all', unit: 's', target: { of: 'product', is: 'at most', limit: 30 } }, [
      Math.max(...losses.flatMap((round) => secondsOf(round))),
    ]),
    alone({ name: 'executed twice', unit: 'runs', target: { of: 'product', is: 'at most', limit: 0 } }, [
      losses.flat().reduce((sum, { duplicates }) => sum + duplicates, 0),
    ]),
  ];
}

function notes(losses: readonly (readonly Loss[])[]): readonly string[] {
  const of = (stand: Stand) =>
    losses
      .flat()
      .filter((loss) => loss.stand === stand)
      .map(({ seconds }) => seconds);
  const range = (stand: Stand) =>
    `${of(stand).length} ${stand}: ${Math.min(...of(stand)).toFixed(1)} to ${Math.max(...of(stand)).toFixed(1)} s`;
  return [
    `${range('claimed')}; ${range('running')}; until another worker’s claim was answered with the run`,
    'each with an agent, a process and one other worker of its own, that is idle and has a channel; retry after a lost worker without a pause',
  ];
}
