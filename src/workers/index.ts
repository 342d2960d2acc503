/** The face of the room: the machines. */
export { Channels } from './channel/channel.service.ts';
export { WorkerPath } from './fleet/fleet.contract.ts';
export { Presence } from './presence/presence.service.ts';
export { WorkersModule } from './workers.module.ts';
