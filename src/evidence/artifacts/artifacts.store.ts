import type { Reading, RunPlace } from '../events/log.store.ts';

export interface ArtifactRow {
  readonly id: string;
  readonly name: string;
  readonly mime_type: string;
  readonly bytes: number;
  readonly is_cut: boolean;
  readonly created_at: Date;
}

export type WholeArtifact = ArtifactRow & { readonly content: string };

const COLUMNS = 'id, name, mime_type, bytes, is_cut, created_at';
const HERE = 'FROM artifact WHERE account_id = $1 AND run_id = $2 AND day = $3::date';
const LIST = `SELECT ${COLUMNS} ${HERE} ORDER BY created_at, id`;
const FIND = `SELECT ${COLUMNS}, content ${HERE} AND id = $4`;

export async function artifactRows(reading: Reading, { accountId, runId, day }: RunPlace): Promise<ArtifactRow[]> {
  return reading.sql<ArtifactRow>(LIST, [accountId, runId, day]);
}

/** Only inside its run: another run's artifact is none. */
export async function findArtifact(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  artifactId: string,
): Promise<WholeArtifact | undefined> {
  return (await reading.sql<WholeArtifact>(FIND, [accountId, runId, day, artifactId]))[0];
}
