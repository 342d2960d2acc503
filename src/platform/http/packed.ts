import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

const pack = promisify(gzip);
/** A short answer travels in one packet either way. */
const SMALL_BYTES = 1_400;

/** Whether a caller takes gzip, by its Accept-Encoding. */
export function takesGzip(accepted: string | undefined): boolean {
  for (const part of (accepted ?? '').split(',')) {
    const [coding, ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    if (coding !== 'gzip' && coding !== 'x-gzip' && coding !== '*') continue;
    return !parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter));
  }
  return false;
}

/** JSON, packed off the event loop; undefined where it is too short to gain anything. Lists of like objects shrink to a tenth at the lowest level. */
export async function packedJson(json: string): Promise<Buffer | undefined> {
  return Buffer.byteLength(json) < SMALL_BYTES ? undefined : pack(json, { level: constants.Z_BEST_SPEED });
}
