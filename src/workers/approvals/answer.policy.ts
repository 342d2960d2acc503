import type { Asked, Unasked } from '../../gateway/index.ts';
import { wireTime } from '../../platform/clock/clock.ts';
import type { Out } from '../../platform/operation/operation.ts';
import type { ChannelFrame } from '../channel/channel.stream.ts';
import type { requestApproval } from './approvals.contract.ts';
import type { UntoldRow } from './approvals.store.ts';

type Answer = Out<typeof requestApproval>;

const REASONS: Readonly<Partial<Record<Answer['state'], string>>> = {
  denied: 'Somebody refused this.',
  expired: 'Nobody decided in time.',
  withdrawn: 'The run is not under way with this worker any more.',
  declined_act_off: 'This run may not act: its input says so.',
};

/** How a question stands, in the words of the frame. The time limit is told only while it runs. */
export function answerOf(answer: Asked | Unasked): Answer {
  const { state, comment } = answer;
  if (answer.approvalId === null) return { approval_id: '', ...settled(state, comment) };
  const { approvalId: approval_id, expiresAt } = answer;
  if (state === 'pending') return { approval_id, state, expires_at: wireTime(expiresAt) };
  return { approval_id, ...settled(state, comment) };
}

/** The answer to a question that stands in no register. */
export function unregistered(state: 'withdrawn' | 'declined_act_off'): Answer {
  return { approval_id: '', ...settled(state, null) };
}

function settled(state: Answer['state'], comment: string | null): Omit<Answer, 'approval_id'> {
  const reason = comment === null || comment === '' ? REASONS[state] : comment;
  return reason === undefined ? { state } : { state, reason };
}

/** What goes down the channel. */
export function decidedFrame(frameId: string, row: UntoldRow): ChannelFrame {
  const { id, state, comment, decided_label, decided_via } = row;
  const said = {
    ...(comment === null ? {} : { comment }),
    ...(decided_label === null ? {} : { decided_by: decided_label }),
    ...(decided_via === null ? {} : { decided_via }),
  };
  return { id: frameId, type: 'action_approval_decided', payload: { approval_id: id, state, ...said } };
}
