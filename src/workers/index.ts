/** The face of the room: the machines. */
export { Channels } from './channel/channel.service.ts';
export { lossOf, type LossRule } from './fleet/loss.policy.ts';
export { WorkerPath } from './fleet/fleet.contract.ts';
export { Fleet } from './fleet/fleet.service.ts';
export {
  exclusionOf,
  lightsOf,
  type Candidate,
  type Exclusion,
  type Lights,
  type Signs,
} from './fleet/lights.policy.ts';
export { Presence } from './presence/presence.service.ts';
export { WorkersModule } from './workers.module.ts';
