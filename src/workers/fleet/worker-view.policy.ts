import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import type { WorkerDetail, WorkerView } from './fleet.contract.ts';
import type { WorkerDetailRow, WorkerRow } from './fleet.store.ts';
import { directExclusion, directResult } from './direct.policy.ts';
import { endpointFlaw } from '../registration/endpoint.policy.ts';
import { exclusionOf, isAssignable, type Light, type Lights } from './lights.policy.ts';
import { assess, windowsOf, type SignLimits } from './signs.policy.ts';

type View = z.input<typeof WorkerView>;

/** A worker's row in the words of the wire, with the lights that follow from it. */
export function workerView(row: WorkerRow, limits: SignLimits): View {
  const { opened } = limits;
  const windows = windowsOf(row, limits.windows);
  const { lights, ahead, candidate, slotsTaken } = assess(row, limits);
  const { lost } = candidate;
  const silentAt = new Date(row.last_seen_at.getTime() + windows.presenceSeconds * 1_000);
  const { generation, version, sdk_version, dialect, cluster_name, namespace, pod_name, mode, agent_id, endpoint_url } =
    row;
  return {
    worker_id: row.id,
    agent_name: row.agent_name,
    ...{ agent_id, generation, version, sdk_version, dialect, cluster_name, namespace, pod_name, mode, endpoint_url },
    delivery: [
      ...(lights.channel.state === 'down' ? [] : (['channel'] as const)),
      'claim',
      ...(directExclusion(row, opened) === undefined ? (['direct'] as const) : []),
    ],
    state: lights.process.state === 'ok' && !lost ? 'online' : 'offline',
    lost: lost && { at: wireTime(lost.at), rule: lost.rule },
    assignable: isAssignable(candidate),
    excluded_by: exclusionOf(candidate)?.code ?? null,
    presence: {
      last_seen_at: wireTime(row.last_seen_at),
      window_seconds: windows.presenceSeconds,
      offline_at: wireTime(ahead.at < silentAt ? ahead.at : silentAt),
      last_path: row.last_path,
    },
    lights: wireLights(lights),
    slots: { total: row.max_concurrent, busy: slotsTaken },
    runs: row.runs.map(({ run_id, attempt, status, since }) => ({
      run_id,
      attempt,
      status,
      since: wireTime(new Date(since)),
    })),
    registered_at: wireTime(row.registered_at),
  };
}

export function workerDetail(row: WorkerDetailRow, limits: SignLimits): z.input<typeof WorkerDetail> {
  const { claimed_handle, refused_frames, health, models, ids_of_process, config } = row;
  return {
    ...workerView(row, limits),
    manifest: row.manifest ?? {},
    ...{ claimed_handle, refused_frames, health, models, ids_of_process },
    config: {
      wanted_version: row.wanted_version ?? '', // nothing was ever set
      applied_version: config.applied_version ?? null,
      unsupported_ops: config.unsupported_ops ?? [],
    },
    channel: {
      replica_id: row.channel_replica,
      opened_at: timeOrNull(row.channel_opened_at),
      round_trip_ms: row.round_trip_ms,
      closed_by: row.channel_closed_by,
    },
    direct: {
      last_result: directResult(row, limits.opened) ?? endpointFlaw(row.manifest ?? {}),
      last_at: timeOrNull(row.direct_called_at),
    },
    token: { state: tokenState(row), expires_at: timeOrNull(row.token_expires_at) },
  };
}

export function wireLights({ process, channel, claim, events }: Lights): View['lights'] {
  return {
    process: wireLight(process),
    channel: wireLight(channel),
    claim: wireLight(claim),
    events: wireLight(events),
  };
}

function wireLight({ state, since, lastAt, why }: Light): View['lights']['process'] {
  return { state, since: timeOrNull(since), last_at: timeOrNull(lastAt), why };
}

function tokenState({ token_is_valid, token_revoked_at, token_expires_at }: WorkerDetailRow): string {
  if (token_is_valid) return 'valid';
  if (token_revoked_at) return 'revoked';
  return token_expires_at ? 'expired' : 'unknown';
}

function timeOrNull(at: Date | null): string | null {
  return at ? wireTime(at) : null;
}
