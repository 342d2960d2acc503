/** Of what people count as characters, more or less: code points. */
const LONGEST = 200;
/** Clients drop the first two from paths, and the third is an address of its own. */
const NO_SEGMENTS = ['.', '..', 'worker-tokens'];

/** Whether a text can be an agent's handle: it stands in paths. Nothing else is made of it: texts that differ are different agents. */
export function isHandle(text: string): boolean {
  const { length } = [...text];
  return length >= 1 && length <= LONGEST && !/[\p{Cc}\p{Cs}/]/u.test(text) && !NO_SEGMENTS.includes(text);
}

/** As much of a token as lets its owner recognise it. */
export function hintOf(token: string): string {
  return `${token.slice(0, token.indexOf('_') + 1)}…${token.slice(-4)}`;
}
