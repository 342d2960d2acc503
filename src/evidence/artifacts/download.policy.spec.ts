import { describe, expect, it } from '@jest/globals';
import { downloadOf } from './download.policy.ts';

describe('an artifact to be downloaded', () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));

  it.each(['image/png;base64', 'image/png; base64', 'IMAGE/PNG ;BASE64 '])(
    'K-51: is the bytes it stands for: %s',
    (type) => {
      expect(downloadOf(type, bytes.toString('base64'))).toEqual({ bytes, contentType: 'image/png' });
    },
  );

  it('may have its base64 in lines, and without padding', () => {
    const lines = bytes.toString('base64').replaceAll(/(.{76})/g, '$1\r\n');
    expect(downloadOf('a/b;base64', lines).bytes).toEqual(bytes);
    expect(downloadOf('a/b;base64', 'AAA').bytes).toEqual(Buffer.of(0, 0));
  });

  it.each(['no base64 at all', 'A', 'AA=A', 'ÄÄÄÄ'])('that only says so is given as it was sent: %s', (text) => {
    expect(downloadOf('a/b;base64', text)).toEqual({ bytes: Buffer.from(text), contentType: 'a/b; charset=utf-8' });
  });

  it.each([
    ['text/html', 'text/html; charset=utf-8'],
    ['text/plain; charset=latin1', 'text/plain; charset=utf-8'],
    ['', 'application/octet-stream'],
    ['html', 'application/octet-stream'],
    ['text/html\r\nset-cookie: x', 'application/octet-stream'],
    ['a/b/c', 'application/octet-stream'],
  ])('of the type %j has the type %j', (type, contentType) => {
    expect(downloadOf(type, 'text')).toEqual({ bytes: Buffer.from('text'), contentType });
  });
});
