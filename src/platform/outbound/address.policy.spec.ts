import { describe, expect, it } from '@jest/globals';
import { judgeAddresses, judgeUrl, openedBy } from './address.policy.ts';

const NOTHING = openedBy([]);

function excluded(url: string, opened = NOTHING): string | undefined {
  const judged = judgeUrl(url, opened);
  return 'excluded' in judged ? judged.excluded : undefined;
}

function excludedAt(url: string, addresses: readonly string[], opened = NOTHING): string | undefined {
  const judged = judgeUrl(url, opened);
  return 'excluded' in judged ? judged.excluded : judgeAddresses(judged.target, addresses, opened);
}

describe('a URL is never called', () => {
  it.each([
    ['https://127.0.0.1', 'loopback'],
    ['https://127.255.255.254:8443', 'loopback'],
    ['https://10.0.0.1', 'private'],
    ['https://172.16.0.1', 'private'],
    ['https://172.31.255.255', 'private'],
    ['https://192.168.1.1', 'private'],
    ['https://100.64.0.1', 'carrierGradeNat'],
    ['https://100.127.255.255', 'carrierGradeNat'],
    ['https://169.254.169.254/latest/meta-data/', 'linkLocal'],
    ['https://0.0.0.0', 'unspecified'],
    ['https://0.1.2.3', 'unspecified'],
    ['https://224.0.0.1', 'multicast'],
    ['https://239.255.255.250', 'multicast'],
    ['https://255.255.255.255', 'broadcast'],
    ['https://240.0.0.1', 'reserved'],
    ['https://192.0.0.8', 'reserved'],
    ['https://192.0.2.1', 'reserved'],
    ['https://198.18.0.1', 'reserved'],
    ['https://203.0.113.7', 'reserved'],
    ['https://[::1]', 'loopback'],
    ['https://[::]', 'unspecified'],
    ['https://[fc00::1]', 'uniqueLocal'],
    ['https://[fd00:ec2::254]', 'uniqueLocal'],
    ['https://[fe80::1]', 'linkLocal'],
    ['https://[fec0::1]', 'deprecatedSiteLocal'],
    ['https://[ff02::1]', 'multicast'],
    ['https://[2001:db8::1]', 'reserved'],
    ['https://[2001::1]', 'teredo'],
    ['https://[100::1]', 'discard'],
    ['https://[4000::1]', 'reserved'],
  ])('at %s, which is %s', (url, kind) => {
    expect(excluded(url)).toMatch(new RegExp(`is no public address \\(${kind}\\)$`));
  });

  it.each([
    ['a mapped address', 'https://[::ffff:127.0.0.1]'],
    ['a mapped address in hexadecimal', 'https://[::ffff:a9fe:a9fe]'],
    ['the old form of a mapped address', 'https://[::10.0.0.1]'],
    ['a translated address', 'https://[::ffff:0:10.0.0.1]'],
    ['NAT64', 'https://[64:ff9b::10.0.0.1]'],
    ['NAT64 of the metadata address', 'https://[64:ff9b::a9fe:a9fe]'],
    ['NAT64 of somebody’s own', 'https://[64:ff9b:1::808:808]'],
    ['6to4', 'https://[2002:7f00:1::1]'],
    ['a decimal form', 'https://2130706433'],
    ['a decimal form of the metadata address', 'https://2852039166'],
    ['an octal form', 'https://0177.0.0.1'],
    ['a hexadecimal form', 'https://0x7f000001'],
    ['a hexadecimal part', 'https://0xa.0.0.1'],
    ['a short form', 'https://127.1'],
    ['full-width digits', 'https://１２７.０.０.１'],
    ['circled digits', 'https://⑩.⓪.⓪.①'],
    ['an address that ends with a dot', 'https://127.0.0.1.'],
    ['percent signs', 'https://%31%32%37.0.0.1'],
  ])('through %s', (_form, url) => {
    expect(excluded(url)).toMatch(/is no public address/);
  });

  it.each([
    ['http://example.com', /plain http/],
    ['http://93.184.216.34', /plain http/],
    ['ftp://example.com', /only https/],
    ['file:///etc/passwd', /only https/],
    ['javascript:alert(1)', /only https/],
    ['https://user@example.com', /user name or a password/],
    ['https://:secret@example.com', /user name or a password/],
    ['https://example.com.', /ends with a dot/],
    ['https://localhost', /this machine itself/],
    ['https://LOCALHOST:8443', /this machine itself/],
    ['https://worker.localhost', /this machine itself/],
    ['', /no absolute URL/],
    ['/relative', /no absolute URL/],
    ['example.com', /no absolute URL/],
    ['https://', /no absolute URL/],
    ['https://10.0.0.1:99999', /no absolute URL/],
  ])('as %s', (url, reason) => {
    expect(excluded(url)).toMatch(reason);
  });

  it('by a name that has a public and a private address', () => {
    expect(excludedAt('https://both.example', ['93.184.216.34', '10.0.0.1'])).toMatch(/10\.0\.0\.1/);
    expect(excludedAt('https://both.example', ['2606:4700::1111', '::1'])).toMatch(/::1/);
  });

  it('by a name whose address nobody can read', () => {
    expect(excludedAt('https://odd.example', ['fe80::1%eth0'])).toMatch(/linkLocal/);
    expect(excludedAt('https://odd.example', ['nonsense'])).toMatch(/unknown/);
  });

  it('that is longer than any address', () => {
    expect(excluded(`https://example.com/${'a'.repeat(2_048)}`)).toMatch(/no absolute URL/);
  });

  it('with a secret in the reason', () => {
    for (const url of ['https://me:hunter2@127.0.0.1', 'http://example.com/?token=hunter2', 'ftp://x/hunter2'])
      expect(excluded(url)).not.toMatch(/hunter2/);
  });
});

describe('a URL is called', () => {
  it.each([
    'https://93.184.216.34',
    'https://93.184.216.34:8010/a2a',
    'https://[2606:4700::1111]',
    'https://[64:ff9b::808:808]',
  ])('at the public address of %s', (url) => expect(excluded(url)).toBeUndefined());

  it('by a name whose addresses are public', () => {
    expect(excludedAt('https://worker.example:8010', ['93.184.216.34', '2606:4700::1111'])).toBeUndefined();
  });
});

describe('what an operator opened', () => {
  it.each([
    ['an address', ['127.0.0.1'], 'http://127.0.0.1:8010'],
    ['an address, in another form of it', ['127.0.0.1'], 'http://[::ffff:127.0.0.1]:8010'],
    ['a range', ['10.1.0.0/16'], 'http://10.1.2.3'],
    ['a range of IPv6', ['fd00::/8'], 'http://[fd12::1]'],
    ['a name', ['Worker.Internal'], 'http://worker.internal:8010'],
  ])('is called over plain http: %s', (_what, places, url) => {
    expect(excluded(url, openedBy(places))).toBeUndefined();
  });

  it('is a name with whatever it resolves to', () => {
    expect(excludedAt('http://worker.internal', ['10.9.9.9'], openedBy(['worker.internal']))).toBeUndefined();
    expect(excludedAt('http://x.worker.internal', ['10.9.9.9'], openedBy(['worker.internal']))).toMatch(/plain http/);
  });

  it('is an address by whatever name, and nothing beside it', () => {
    const opened = openedBy(['10.1.0.0/16']);
    expect(excludedAt('http://worker.example', ['10.1.0.7'], opened)).toBeUndefined();
    expect(excludedAt('http://worker.example', ['10.2.0.7'], opened)).toMatch(/10\.2\.0\.7/);
    expect(excludedAt('http://worker.example', ['10.1.0.7', '10.2.0.7'], opened)).toMatch(/10\.2\.0\.7/);
    expect(excludedAt('http://worker.example', ['93.184.216.34'], opened)).toMatch(/plain http/);
    expect(excluded('https://127.0.0.1', opened)).toMatch(/loopback/);
  });

  it('opens neither userinfo nor other schemes', () => {
    const opened = openedBy(['127.0.0.1', 'worker.internal']);
    expect(excluded('http://me@127.0.0.1', opened)).toMatch(/user name/);
    expect(excluded('gopher://worker.internal', opened)).toMatch(/only https/);
  });
});
