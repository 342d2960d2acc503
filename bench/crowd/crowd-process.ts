import type { AnswerMessage, Headcount, Order, OrderMessage } from './orders.ts';
import { QuietWorker, type Tally } from './quiet-worker.ts';

/** So many at a time while the crowd gathers: a thundering start is not what is measured. */
const AT_ONCE = 50;

const tally: Tally = { claims: 0, emptyClaims: 0, pongs: 0, failures: 0, lastFailure: null, taken: [] };
const workers: QuietWorker[] = [];

process.on('message', ({ number, order }: OrderMessage) => {
  obey(order).then(
    () => answer({ number, headcount: headcount() }),
    (error: unknown) => answer({ number, error: String(error) }),
  );
});
process.once('disconnect', () => process.exit(0)); // the bench is over, however it ended

async function obey(order: Order): Promise<void> {
  if (order.do === 'open') {
    const { url, agents, conduct, upTo } = order;
    const fresh: QuietWorker[] = [];
    while (workers.length + fresh.length < upTo) {
      const agent = agents[(workers.length + fresh.length) % agents.length];
      if (agent === undefined) throw new Error('a crowd needs an agent');
      fresh.push(new QuietWorker(url, agent, conduct, tally));
    }
    workers.push(...fresh);
    await inTurns(fresh, (worker) => worker.open());
  } else if (order.do === 'register') {
    await inTurns(workers, (worker) => worker.register());
  } else if (order.do === 'work') {
    await Promise.all(workers.map((worker) => worker.work()));
  }
}

async function inTurns(those: readonly QuietWorker[], each: (worker: QuietWorker) => Promise<void>): Promise<void> {
  const queue = those.values();
  const one = async () => {
    for (const worker of queue) await each(worker);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

function headcount(): Headcount {
  const open = workers.filter(({ isOpen }) => isOpen);
  return { ...tally, open: open.length, back: open.filter(({ hasAsked }) => hasAsked).length };
}

function answer(message: AnswerMessage): void {
  process.send?.(message);
}
