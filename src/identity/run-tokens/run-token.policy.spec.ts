import { expect, it } from '@jest/globals';
import { bodyOf, readRunToken, writeRunToken } from './run-token.policy.ts';

const CLAIM = { accountId: 'acct_1', runId: 'run ü/\u{1f600}', agentId: 'agent_1', attempt: 2 };
const MAC = Buffer.alloc(32, 7);

it('a run token says which attempt of which run it is for, whatever the ids hold', () => {
  const body = bodyOf('a.key', CLAIM);
  expect(readRunToken(writeRunToken(body, MAC))).toEqual({ keyId: 'a.key', claim: CLAIM, body, mac: MAC });
});

it.each([
  [''],
  ['srt_'],
  ['srt_a.b'],
  ['sk_abc'],
  [writeRunToken('bm9uZQ', MAC)],
  [writeRunToken(Buffer.from('{}').toString('base64url'), MAC)],
  [writeRunToken(Buffer.from('["k","a","r","g"]').toString('base64url'), MAC)],
  [writeRunToken(Buffer.from('["k","a","r","g","1"]').toString('base64url'), MAC)],
  [writeRunToken(Buffer.from('["k","a","r",null,1]').toString('base64url'), MAC)],
  [writeRunToken(Buffer.from('["k","a","r","g",1.5]').toString('base64url'), MAC)],
  [`${writeRunToken(bodyOf('k', CLAIM), MAC)}x`],
  [`srt_${'A'.repeat(5_000)}.${MAC.toString('base64url')}`],
])('what is no run token is none: %j', (text) => {
  expect(readRunToken(text)).toBeUndefined();
});
