import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newSecret } from '../crypto/secrets.ts';
import { describeError, withoutSecrets } from './log.ts';

const MODULE = path.resolve('src/platform/log/log.ts');

describe('U-42: a line without secrets', () => {
  it.each([
    ['an API key', `used ${newSecret('sk')} twice`],
    ['a worker token', `token=${newSecret('swt')}`],
    ['a bearer header', 'authorization: Bearer any-form.of/key+at=all'],
    ['a bearer header with more space', 'Authorization: bearer   any-form'],
    ['a password in an address', 'postgresql://user:pass-word@host:5432/name'],
    ['a password with an @ in it', 'postgresql://user:pa@ss@host/name'],
    ['a password without a user', 'redis://:pass@host'],
  ])('hides %s', (_, text) => {
    const shown = withoutSecrets(text);
    expect(shown).toContain('***');
    expect(shown).not.toMatch(/sk_|swt_|any-form|pass|ss@/);
  });

  it.each([
    'risk_assessment',
    'task_12345678',
    'http://127.0.0.1:8080/x',
    'owner@example.com',
    'key_01h455vb4pex5vsknk084sn02q',
  ])('shows %s', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  it('hides the secret inside JSON and leaves the JSON whole', () => {
    const secret = fc.constantFrom(
      'Bearer abc',
      newSecret('sk'),
      'postgresql://u:pw@h/d',
      'http://127.0.0.1:8080',
      'o@x.test',
      '://a:1',
    );
    const line = fc.dictionary(
      fc.string({ maxLength: 6 }),
      fc.oneof(secret, fc.string(), fc.array(secret, { maxLength: 3 })),
      { maxKeys: 6 },
    );
    fc.assert(
      fc.property(line, (fields) => {
        const parsed: unknown = JSON.parse(withoutSecrets(JSON.stringify(fields)));
        expect(typeof parsed).toBe('object');
        expect(JSON.stringify(parsed)).not.toMatch(/Bearer abc|sk_|:pw@/);
      }),
    );
  });

  it('shows the fields beside an address with a port', () => {
    const line = JSON.stringify({ url: 'http://127.0.0.1:8080', owner: 'o@x.test', note: 'Bearer abc' });
    expect(JSON.parse(withoutSecrets(line))).toEqual({
      url: 'http://127.0.0.1:8080',
      owner: 'o@x.test',
      note: 'Bearer ***',
    });
  });
});

describe('the log', () => {
  it('writes one object of JSON a line, from its level upwards, whatever is in it', () => {
    const lines = linesOf(`
      setLogLevel('info');
      const log = new Log('test');
      log.debug('not shown');
      log.info('two\\nlines', { request_id: 'req_1', text: 'a\\u2028b' });
      log.warn('leaky', { header: 'Bearer abc', last: 1 });
      log.error('failed', { error: describeError(new Error('why')) });
    `);
    expect(lines).toMatchObject([
      { level: 'info', name: 'test', msg: 'two\nlines', request_id: 'req_1', text: 'a\u2028b' },
      { level: 'warn', header: 'Bearer ***', last: 1 },
      { level: 'error', error: expect.stringContaining('Error: why\n') },
    ]);
    for (const { time } of lines) expect(time).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
  });

  it('describes what is no error in words', () => {
    expect(describeError('just a text')).toBe('just a text');
  });
});

/** What a process writes that runs `script` with the log. */
function linesOf(script: string): Readonly<Record<string, unknown>>[] {
  const source = `import { Log, describeError, setLogLevel } from ${JSON.stringify(MODULE)}; ${script}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}
