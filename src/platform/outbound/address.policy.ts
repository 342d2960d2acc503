import ipaddr from 'ipaddr.js';

/** What outbound calls may reach beyond the public internet, and over plain HTTP: the operator's own list. */
export interface Opened {
  /** In lower case. Whatever they resolve to is opened. */
  readonly names: ReadonlySet<string>;
  readonly ranges: readonly Range[];
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/** A URL that may be called if its addresses may be reached. */
export interface Target {
  readonly url: URL;
  /** Its name, or its address without brackets. */
  readonly host: string;
}

/** Longer ones are nobody's address. */
const LONGEST_URL = 2_048;

/** `places` are host names, addresses and CIDRs, as the configuration has checked them. */
export function openedBy(places: readonly string[]): Opened {
  const isRange = (place: string) => ipaddr.isValid(place) || ipaddr.isValidCIDR(place);
  return {
    names: new Set(places.filter((place) => !isRange(place)).map((place) => place.toLowerCase())),
    ranges: places.filter(isRange).map(rangeOf),
  };
}

/**
 * What of a URL can be judged without asking for its addresses: the target, or why it is never called. The reason holds nothing
 * of the URL but its host. Decimal, octal and hexadecimal forms of an address have become the address by then: the parser of
 * the platform reads them as every client does.
 */
export function judgeUrl(text: string, opened: Opened): { readonly target: Target } | { readonly excluded: string } {
  if (text.length > LONGEST_URL || !URL.canParse(text)) return { excluded: 'it is no absolute URL' };
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { excluded: 'only https is called' };
  if (url.username !== '' || url.password !== '') return { excluded: 'it holds a user name or a password' };
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (host.endsWith('.')) return { excluded: 'its name ends with a dot' };
  const target = { url, host };
  const excluded = ipaddr.isValid(host) ? judgeAddresses(target, [host], opened) : judgeName(target, opened);
  return excluded === undefined ? { target } : { excluded };
}

/** Why a target is not called at these addresses, which are all that its name has. One that may not be reached is enough. */
export function judgeAddresses(
  { url, host }: Target,
  addresses: readonly string[],
  opened: Opened,
): string | undefined {
  if (opened.names.has(host)) return undefined;
  for (const text of addresses) {
    const address = reached(text);
    if (address && opened.ranges.some((range) => isWithin(address, range))) continue;
    const kind = address ? kindOf(address) : 'unknown';
    if (kind !== 'public') return `${text} is no public address (${kind})`;
    if (url.protocol !== 'https:') return 'plain http is only spoken with what is allowed for it';
  }
  return undefined;
}

function judgeName({ url, host }: Target, opened: Opened): string | undefined {
  if (opened.names.has(host)) return undefined;
  if (/(^|\.)localhost$/.test(host)) return `${host} is this machine itself`;
  if (url.protocol === 'https:' || opened.ranges.length > 0) return undefined; // by its addresses
  return 'plain http is only spoken with what is allowed for it';
}

function rangeOf(place: string): Range {
  if (ipaddr.isValidCIDR(place)) return ipaddr.parseCIDR(place);
  const address = ipaddr.parse(place);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function isWithin(address: Address, [network, bits]: Range): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/** The machine that an address leads to: what is mapped, or translated on the way, is the IPv4 address inside it. */
function reached(text: string): Address | undefined {
  if (!ipaddr.isValid(text)) return undefined;
  const address = ipaddr.parse(text);
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  const bytes = address.toByteArray();
  if (address.match(NAT64, 96)) return new ipaddr.IPv4(bytes.slice(12));
  return address.range() === '6to4' ? new ipaddr.IPv4(bytes.slice(2, 6)) : address;
}

const NAT64 = ipaddr.IPv6.parse('64:ff9b::');
/** All that is given out for the public internet. Old forms that hide an IPv4 address are outside of it. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');

function kindOf(address: Address): string {
  const range = address.range();
  if (range !== 'unicast') return range;
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST, 3) ? 'public' : 'reserved';
}
