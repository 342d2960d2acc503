const LONGEST = 200;

/** Whether a text can be an agent's handle: it stands in paths, so it holds no slash and is no dot segment. */
export function isHandle(text: string): boolean {
  return text.length >= 1 && text.length <= LONGEST && !/[\p{Cc}/]/u.test(text) && text !== '.' && text !== '..';
}

/** As much of a token as lets its owner recognise it. */
export function hintOf(token: string): string {
  return `${token.slice(0, token.indexOf('_') + 1)}…${token.slice(-4)}`;
}
