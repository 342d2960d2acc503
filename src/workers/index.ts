/** The face of the room: the machines. */
export { Channels } from './channel/channel.service.ts';
export { Lights as LightsView, WorkerPath } from './fleet/fleet.contract.ts';
export { Fleet } from './fleet/fleet.service.ts';
export { directResult } from './fleet/direct.policy.ts';
export { exclusionOf, type Exclusion } from './fleet/lights.policy.ts';
export { lossAheadOf, lossOf, lossTermsIn, type LossRow, type LossRule } from './fleet/loss.policy.ts';
export { assess, signLimits, type Assessment, type WorkerSigns } from './fleet/signs.policy.ts';
export { wireLights } from './fleet/worker-view.policy.ts';
export { WorkerIdTaken } from './registration/registration.contract.ts';
export { Presence } from './presence/presence.service.ts';
export { WorkersModule } from './workers.module.ts';
