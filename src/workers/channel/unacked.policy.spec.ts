import { describe, expect, it } from '@jest/globals';
import { connectionName, unacknowledgedIn } from './unacked.policy.ts';

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     ';
/** Lines of real kernels. */
const LISTENS =
  '   0: 0100007F:B42B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 473835 1 00000000e6fd7e63 100 0 0 10 0                    ';
const WELL =
  '4387: 0107630A:99E5 0207630A:AA72 01 00000000:00000000 00:00000000 00000000     0        0 489101 1 00000000beeb6fe7 20 0 0 11 -1                    ';
const LINK_JUST_DOWN =
  '4056: 0107630A:99E5 0207630A:AA72 01 000000C8:00000000 01:00000006 00000000     0        0 489101 2 00000000beeb6fe7 20 0 0 11 -1                    ';
const LINK_DOWN =
  '3589: 0107630A:99E5 0207630A:AA72 01 00000190:00000000 01:0000008E 00000004     0        0 489101 2 00000000beeb6fe7 163 0 0 1 -1                    ';
const STOPPED_AND_FULL =
  '   1: 0000000000000000FFFF00000100007F:8B0B 0000000000000000FFFF00000100007F:8D1A 01 003A0C00:00000000 04:00000045 00000000     0        0 491787 2 00000000079315a4 20 0 0 15 -1';
const UNREAD =
  '  64: 0100007F:8D1A 0100007F:8B0B 01 00000000:00000064 00:00000000 00000000     0        0 491786 2 0000000006fd1de4 20 4 30 10 -1                   ';
/** The same, five probes later, when nobody answers them. */
const FULL_AND_GONE = STOPPED_AND_FULL.replace('00000000     0        0 491787', '00000000     0        5 491787');

const HOST = { localAddress: '10.99.7.1', localPort: 0x99e5, remoteAddress: '10.99.7.2', remotePort: 0xaa72 };
const LOOPBACK = {
  ...{ localAddress: '::ffff:127.0.0.1', localPort: 0x8b0b },
  ...{ remoteAddress: '::ffff:127.0.0.1', remotePort: 0x8d1a },
};

const table = (...lines: string[]) => [HEAD, ...lines, ''].join('\n');

describe('bytes that nobody acknowledges', () => {
  it.each([
    ['nothing is under way', WELL, false],
    ['the link has just gone', LINK_JUST_DOWN, true],
    ['the link is down and the kernel tries again', LINK_DOWN, true],
  ])('A4(c): when %s', (_situation, line, expected) => {
    expect(unacknowledgedIn(table(LISTENS, line)).has(connectionName(HOST) ?? '')).toBe(expected);
  });

  it('A4(c): are not those that a stopped process leaves: its kernel answers, also when it has no room', () => {
    expect(unacknowledgedIn(table(UNREAD)).size).toBe(0);
    expect(unacknowledgedIn(table(STOPPED_AND_FULL)).size).toBe(0);
    expect([...unacknowledgedIn(table(FULL_AND_GONE))]).toEqual([connectionName(LOOPBACK)]);
  });

  it.each(['', HEAD, table(LISTENS), table('nonsense', '  1: 2 3'), 'no table at all\nof any kind'])(
    'are none in %j',
    (text) => {
      expect(unacknowledgedIn(text).size).toBe(0);
    },
  );
});

describe('the name of a connection', () => {
  const of = (localAddress: string, remoteAddress: string) =>
    connectionName({ localAddress, localPort: 80, remoteAddress, remotePort: 65_535 });
  it.each([
    ['127.0.0.1', '10.0.0.255', '0100007F:0050 FF00000A:FFFF'],
    ['::1', '::', '00000000000000000000000001000000:0050 00000000000000000000000000000000:FFFF'],
    [
      '2001:db8::8a2e:370:7334',
      'fe80::1%eth0',
      'B80D0120000000002E8A000034737003:0050 000080FE000000000000000001000000:FFFF',
    ],
    [
      '::ffff:127.0.0.1',
      '1:2:3:4:5:6:7:8',
      '0000000000000000FFFF00000100007F:0050 02000100040003000600050008000700:FFFF',
    ],
  ])('from %s to %s', (local, remote, name) => {
    expect(of(local, remote)).toBe(name);
  });

  it.each(['', 'host', '1.2.3', '1.2.3.256', '1.2.3.x', '::ffff:1.2.3', '1:2', '1:2:3:4:5:6:7:8:9', '::g'])(
    'is none for %j',
    (address) => {
      expect(of(address, '127.0.0.1')).toBeUndefined();
    },
  );
});
