/** The face of the room: what an agent may call, and what somebody must allow first. */
export { Approvals, type Asked, type Unasked } from './approvals/approvals.service.ts';
export { forgetApprovals } from './approvals/approvals.store.ts';
export { WINDOW_SECONDS } from './approvals/proposal.policy.ts';
export { GatewayModule } from './gateway.module.ts';
