import { describe, expect, it } from '@jest/globals';
import { readConfig, StartRefused } from './config.ts';
import { SETTINGS } from './settings.ts';

describe('the configuration', () => {
  it('U-64: has a default, or may be absent, for every setting', () => {
    expect(readConfig({})).toMatchObject({ port: 8080, host: '127.0.0.1', auth: 'on', invokeWaitSeconds: 600 });
  });

  it('U-64: names the setting that is wrong', () => {
    expect(() => readConfig({ PORT: '80a' })).toThrow('PORT must be a whole number from 0 to 65535 (it is "80a")');
    expect(() => readConfig({ SIGNALBOX_AUTH: 'maybe' })).toThrow(StartRefused);
    expect(() => readConfig({ DATABASE_URL: 'mysql://x' })).toThrow('DATABASE_URL must be a postgresql:// address');
  });

  it('U-42: keeps a secret setting’s value out of the refusal', () => {
    expect(() => readConfig({ SIGNALBOX_BOOTSTRAP_API_KEY: 'short-secret' })).toThrow(
      'SIGNALBOX_BOOTSTRAP_API_KEY must have at least 32 characters, and no white space',
    );
    expect(() => readConfig({ SIGNALBOX_BOOTSTRAP_API_KEY: 'short-secret' })).not.toThrow('short-secret');
  });

  it('K-62: allows authentication to be off on a loopback address only', () => {
    expect(readConfig({ SIGNALBOX_AUTH: 'off' }).auth).toBe('off');
    expect(() => readConfig({ SIGNALBOX_AUTH: 'off', HOST: '0.0.0.0' })).toThrow('loopback');
  });

  it('U-64: puts the clock wrong in tests of the program only', () => {
    const asked = { SIGNALBOX_CLOCK_OFFSET_SECONDS: '-120.5' };
    expect(readConfig({ ...asked, NODE_ENV: 'test' }).clockOffsetSeconds).toBe(-120.5);
    expect(() => readConfig(asked)).toThrow(StartRefused);
    expect(() => readConfig({ ...asked, NODE_ENV: 'production' })).toThrow(
      /^SIGNALBOX_CLOCK_OFFSET_SECONDS .*NODE_ENV=test/,
    );
    for (const wrong of ['2m', '1e9', '86401', '--1'])
      expect(() => readConfig({ SIGNALBOX_CLOCK_OFFSET_SECONDS: wrong, NODE_ENV: 'test' })).toThrow(
        'SIGNALBOX_CLOCK_OFFSET_SECONDS',
      );
  });

  it.each(['10.0.0.300', 'http://host', 'host:80', '10.0.0.0/33', 'a b', '-host'])(
    'U-64: refuses %s as a place outbound calls may reach',
    (place) => {
      expect(() => readConfig({ SIGNALBOX_OUTBOUND_ALLOW: `localhost, ${place}` })).toThrow('SIGNALBOX_OUTBOUND_ALLOW');
    },
  );

  it('takes host names, addresses and CIDRs as places outbound calls may reach', () => {
    const places = ['localhost', 'tools.internal', '10.0.0.0/8', '::1', 'tool_server-2'];
    expect(readConfig({ SIGNALBOX_OUTBOUND_ALLOW: places.join(', ') }).outboundAllow).toEqual(places);
  });

  it('describes every setting in a sentence', () => {
    for (const { variable, sentence } of Object.values(SETTINGS)) expect(`${variable}: ${sentence}`).toMatch(/\.$/);
  });
});
