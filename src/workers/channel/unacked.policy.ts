/**
 * What the kernel knows of connections: whether the other machine acknowledges what was sent. A dead host does not; a
 * process that is stopped or does not read does, since its kernel takes the bytes, or refuses them in so many words.
 */

/** A connection as a socket knows it. */
export interface Endpoints {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
}

const MAPPED = '::ffff:';
/** A window of zero is asked about again and again; one question may always be under way. */
const PROBING = '04';
const UNANSWERED_PROBES = 2;
const LISTENING = '0A';

/** How `/proc/net/tcp` and `tcp6` name a connection, on a little-endian machine; undefined for what is no address. */
export function connectionName({ localAddress, localPort, remoteAddress, remotePort }: Endpoints): string | undefined {
  const [local, remote] = [hexOf(localAddress), hexOf(remoteAddress)];
  return local && remote ? `${local}:${portOf(localPort)} ${remote}:${portOf(remotePort)}` : undefined;
}

/** The names of the connections in a table of the kernel with bytes that the other side does not acknowledge. */
export function unacknowledgedIn(table: string): Set<string> {
  const names = new Set<string>();
  for (const line of table.split('\n').slice(1)) {
    const [, local, remote, state, queues, timer, , , probes] = line.trim().split(/\s+/);
    if (state === undefined || state === LISTENING || queues?.startsWith('00000000:') !== false) continue;
    if (timer?.startsWith(`${PROBING}:`) && Number(probes) < UNANSWERED_PROBES) continue;
    names.add(`${local} ${remote}`);
  }
  return names;
}

function hexOf(address: string): string | undefined {
  const [bare = ''] = address.split('%');
  if (bare.toLowerCase().startsWith(MAPPED) && bare.includes('.')) {
    const mapped = ofFour(bare.slice(MAPPED.length));
    return mapped && `0000000000000000FFFF0000${mapped}`;
  }
  return bare.includes(':') ? ofSixteen(bare) : ofFour(bare);
}

function ofFour(address: string): string | undefined {
  const bytes = address.split('.').map(Number);
  if (bytes.length !== 4 || bytes.some((byte) => !(byte >= 0 && byte <= 255))) return undefined;
  return bytes.reverse().map(hexByte).join('');
}

function ofSixteen(address: string): string | undefined {
  const [head = [], tail] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const missing = tail ? 8 - head.length - tail.length : 0;
  if (missing < 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => '0'), ...(tail ?? [])];
  const values = groups.map((group) => Number.parseInt(group, 16));
  if (values.length !== 8 || values.some((value) => !(value >= 0 && value <= 0xffff))) return undefined;
  const bytes = values.flatMap((value) => [value >> 8, value & 0xff]);
  const words = [0, 4, 8, 12].map((start) => bytes.slice(start, start + 4).reverse());
  return words.flat().map(hexByte).join('');
}

function hexByte(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}

function portOf(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
