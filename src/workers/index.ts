/** The face of the room: the machines. */
export { Channels } from './channel/channel.service.ts';
export { Lights as LightsView, WorkerPath } from './fleet/fleet.contract.ts';
export { Fleet } from './fleet/fleet.service.ts';
export {
  exclusionOf,
  lightsOf,
  type Candidate,
  type Exclusion,
  type Lights,
  type Signs,
} from './fleet/lights.policy.ts';
export { lossAheadOf, lossOf, type LossRule, type LossSigns } from './fleet/loss.policy.ts';
export { wireLights } from './fleet/worker-view.policy.ts';
export { Presence } from './presence/presence.service.ts';
export { WorkersModule } from './workers.module.ts';
