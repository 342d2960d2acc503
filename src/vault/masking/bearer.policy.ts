import { REDACTED } from './forms.policy.ts';

/** API keys and worker tokens (`sk_`, `swt_`) and tokens of runs (`srt_`), as they are made. */
const BEARER = String.raw`(?:sk|swt)_[\w-]{43}|srt_[\w-]{16,4000}\.[\w-]{43}`;
const PLAIN = new RegExp(`(?<![A-Za-z0-9])(?:${BEARER})(?![\\w-])`, 'g');
const DECODED = new RegExp(BEARER);

/** How a prefix looks in base64 behind no, one or two bytes more: the characters that are its own. */
const IN_BASE64 = ['sk_', 'swt_', 'srt_'].flatMap((prefix) =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), Buffer.from(prefix)]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + prefix.length) * 8) / 6));
  }),
);
const ENCODED = new RegExp(`[\\w+/-]{0,3}(?:${IN_BASE64.join('|')})[\\w+/-]{58,}={0,2}`, 'g');
const SUSPECT = new RegExp(`${BEARER}|(?:${IN_BASE64.join('|')})[\\w+/-]{58}`);
/** Shorter texts hold none. */
const SHORTEST = 46;

/** Whether something in the text may be a bearer secret of ours: cheap, and sometimes wrong. */
export function mayHoldBearer(text: string): boolean {
  return text.length >= SHORTEST && SUSPECT.test(text);
}

/** Masks what has the shape of a bearer secret of ours, whoever it belongs to; `onMasked` is told of each. */
export function withoutBearers(text: string, onMasked: () => void): string {
  if (!mayHoldBearer(text)) return text;
  const mask = (): string => {
    onMasked();
    return REDACTED;
  };
  return text.replace(PLAIN, mask).replace(ENCODED, (encoded) => (isBearerInBase64(encoded) ? mask() : encoded));
}

function isBearerInBase64(encoded: string): boolean {
  return [0, 1, 2, 3].some((skip) => DECODED.test(Buffer.from(encoded.slice(skip), 'base64').toString('latin1')));
}
