import { describe, expect, it } from '@jest/globals';
import { dispositionOf, FileAnswer, rangeOf } from './file-answer.ts';

describe('the part of ten bytes that is asked for with', () => {
  it.each([
    ['bytes=0-3', { start: 0, end: 4 }],
    ['bytes=4-', { start: 4, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-300', { start: 0, end: 10 }],
    ['bytes=9-9', { start: 9, end: 10 }],
    ['bytes=5-500', { start: 5, end: 10 }],
    ['Bytes = 1-2', { start: 1, end: 3 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=10-12', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
    [undefined, undefined],
    ['bytes=-', undefined],
    ['bytes=5-2', undefined],
    ['bytes=0-1,4-5', undefined],
    ['items=0-1', undefined],
    ['bytes=a-b', undefined],
  ])('%s', (header, range) => {
    expect(rangeOf(header, 10)).toEqual(range);
  });

  it('anything is none where there is nothing', () => {
    expect(rangeOf('bytes=0-', 0)).toBe('unsatisfiable');
    expect(rangeOf('bytes=-1', 0)).toBe('unsatisfiable');
  });
});

describe('the name of a download', () => {
  it.each([
    ['report.txt', `attachment; filename="report.txt"; filename*=UTF-8''report.txt`],
    ['Übersicht (1).pdf', `attachment; filename="_bersicht (1).pdf"; filename*=UTF-8''%C3%9Cbersicht%20%281%29.pdf`],
    ['a"b\r\nSet-Cookie: x', `attachment; filename="a_b__Set-Cookie: x"; filename*=UTF-8''a%22b__Set-Cookie%3A%20x`],
    ['../../etc/passwd', `attachment; filename=".._.._etc_passwd"; filename*=UTF-8''.._.._etc_passwd`],
    ['half \ud800', `attachment; filename="half _"; filename*=UTF-8''half%20%EF%BF%BD`],
  ])('%j can be in a header', (name, header) => {
    expect(dispositionOf(name)).toBe(header);
  });
});

it('a file that is to be saved is never shown, and says when it is another', () => {
  const { headers } = new FileAnswer(Buffer.from('<script>'), 'x.html', 'text/html; charset=utf-8');
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'content-disposition': expect.stringMatching(/^attachment;/),
  });
  expect(new FileAnswer(Buffer.from('<script>'), 'y', 'text/plain').tag).toBe(headers['etag']);
  expect(new FileAnswer(Buffer.from('<script >'), 'x.html', 'text/plain').tag).not.toBe(headers['etag']);
});
