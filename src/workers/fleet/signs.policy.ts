import type { Config } from '../../platform/config/config.ts';
import { openedBy, type Opened } from '../../platform/outbound/address.policy.ts';
import { isDialable, type DirectFacts } from './direct.policy.ts';
import type { WorkerRow } from './fleet.store.ts';
import { lightsOf, type Candidate, type Lights, type Windows } from './lights.policy.ts';
import { lossAheadOf, lossTermsIn, type Loss, type LossLimits } from './loss.policy.ts';

/** What of a worker's row is a sign of how it is. */
export type WorkerSigns = Pick<
  WorkerRow,
  | 'now'
  | 'hearing_since'
  | 'silent_limit_seconds'
  | 'window_seconds'
  | 'dialect'
  | 'registered_at'
  | 'last_seen_at'
  | 'last_claim_at'
  | 'last_pong_at'
  | 'last_events_at'
  | 'channel_opened_at'
  | 'channel_closed_at'
  | 'channel_closed_by'
  | 'unacked_since'
  | 'token_is_valid'
  | 'mode'
  | 'mode_since'
  | 'max_concurrent'
> &
  DirectFacts & {
    /** A channel of its agent is open, whoever’s; absent: its own is asked about. */
    readonly has_channel?: boolean;
    readonly runs: readonly Pick<WorkerRow['runs'][number], 'since' | 'started_at' | 'slot'>[];
  };

/** Against what the signs are held. */
export interface SignLimits {
  readonly windows: Windows;
  /** Of the installation; an agent may have a silent limit of its own. */
  readonly loss: LossLimits;
  readonly opened: Opened;
}

export function signLimits(
  config: LossLimits &
    Pick<Config, 'presenceWindowSeconds' | 'claimWindowSeconds' | 'channelPingSeconds' | 'outboundAllow'>,
): SignLimits {
  const { presenceWindowSeconds, claimWindowSeconds, channelPingSeconds } = config;
  return {
    windows: {
      presenceSeconds: presenceWindowSeconds,
      claimSeconds: claimWindowSeconds,
      pingSeconds: channelPingSeconds,
    },
    loss: config,
    opened: openedBy(config.outboundAllow),
  };
}

export interface Assessment {
  readonly lights: Lights;
  /** When it is lost unless it is heard. */
  readonly ahead: Loss;
  readonly slotsTaken: number;
  readonly candidate: Candidate;
}

/** How a worker is, by its signs. */
export function assess(row: WorkerSigns, { windows, loss, opened }: SignLimits): Assessment {
  const slotted = row.runs.filter(({ slot }) => slot !== null);
  const slotsTaken = slotted.length;
  const lights = lightsOf(signsOf(row, slotsTaken), windowsOf(row, windows));
  const ahead = lossAhead(row, loss);
  const candidate = {
    lights,
    lost: ahead.at <= row.now ? ahead : null,
    isTokenValid: row.token_is_valid,
    mode: row.mode,
    modeSince: row.mode_since,
    isDialable: !(row.has_channel ?? hasChannel(row)) && isDialable(row, opened),
    busySince:
      slotsTaken < row.max_concurrent ? null : new Date(Math.max(...slotted.map(({ since }) => Date.parse(since)))),
  };
  return { lights, ahead, slotsTaken, candidate };
}

function hasChannel({ channel_opened_at: opened, channel_closed_at: closed }: WorkerSigns): boolean {
  return opened !== null && (closed === null || closed < opened);
}

/** Those of the installation, but for what the worker has of its own. */
export function windowsOf({ window_seconds: own }: Pick<WorkerSigns, 'window_seconds'>, windows: Windows): Windows {
  return { ...windows, presenceSeconds: own ?? windows.presenceSeconds };
}

/** What it was only offered is offered again earlier; that does not lose the worker. */
function lossAhead(row: WorkerSigns, limits: LossLimits): Loss {
  const holding = row.runs.some(({ started_at }) => started_at !== null) ? 'running' : 'idle';
  const terms = lossTermsIn(row, limits);
  return lossAheadOf(terms.signs, holding, terms.limits);
}

function signsOf(row: WorkerSigns, slotsTaken: number) {
  const running = row.runs.flatMap(({ started_at }) => (started_at === null ? [] : [new Date(started_at)]));
  return {
    now: row.now,
    registeredAt: row.registered_at,
    lastSeenAt: row.last_seen_at,
    lastClaimAt: row.last_claim_at,
    lastPongAt: row.last_pong_at,
    hearsPings: row.dialect !== '0.1',
    lastEventsAt: row.last_events_at,
    channelOpenedAt: row.channel_opened_at,
    channelClosedAt: row.channel_closed_at,
    channelClosedBy: row.channel_closed_by,
    slots: row.max_concurrent,
    slotsTaken,
    runningSince: running.length === 0 ? null : new Date(Math.min(...running.map((at) => at.getTime()))),
  };
}
