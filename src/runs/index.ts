export { RunsModule } from './runs.module.ts';
export { RunLifecycle } from './lifecycle/lifecycle.service.ts';
export { RunMoves, type SeenLoss } from './moves/moves.service.ts';
export { whyLate, type Lateness } from './lifecycle/late.policy.ts';
export { factsOfHolder } from './lifecycle/late.store.ts';
export { RunWatch } from './watch/watch.service.ts';
export {
  AccountQueueFull,
  AgentQueueFull,
  ContentWithheld,
  ListTooSlow,
  RunNotFound,
  RunStaleAttempt,
  RunTerminal,
} from './lifecycle/lifecycle.faults.ts';
export {
  AttemptNumber,
  CallersRunId,
  RunId,
  RunMessageResponse,
  RunStatusName,
  RunSummary,
  RunUsage,
  runRequest,
} from './lifecycle/lifecycle.contract.ts';
export { ReplayClock } from './lifecycle/replay.policy.ts';
export { toListed, toSummary } from './lifecycle/lifecycle.policy.ts';
export { isTerminal, type RunStatus } from './lifecycle/lifecycle.states.ts';
export {
  END_NUMBERS,
  acknowledgeCancel,
  keepLateReport,
  unansweredCancels,
  type RunRow,
} from './lifecycle/lifecycle.store.ts';
export { type Move } from './attempts/attempts.policy.ts';
export { readMoves } from './attempts/attempts.store.ts';
export { childrenOf, runsByIds, withOthersBelow } from './threads/relatives.store.ts';
export { toMessage } from './records/records.policy.ts';
export type { Begun } from './moves/begin.store.ts';
export type { Claimant, ClaimResult, Dial, Job } from './moves/claim.store.ts';
export type { AdoptedRun, DialledRun } from './moves/dial.store.ts';
export type { End, Holder } from './moves/moves.store.ts';
export { forgetRuns } from './retention/retention.store.ts';
export { countMasked } from './lifecycle/masked.store.ts';
