/** Where something stands in a JSON value: keys and list positions, from the root. */
export type JsonPath = readonly (string | number)[];

/** A key longer than this is cut where it is shown: it came from outside and may be megabytes. */
const SHOWN_KEY_LENGTH = 200;

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;

/** `payload.events[3].text`; a key that would be misread stands as `["a.b"]`. The root itself is the empty text. */
export function formatPath(path: JsonPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (!PLAIN_KEY.test(step)) text += `[${JSON.stringify(shownKey(step))}]`;
    else text += text === '' ? shownKey(step) : `.${shownKey(step)}`;
  }
  return text;
}

/** The same path with keys that can be shown. */
export function shownPath(path: JsonPath): JsonPath {
  return path.map((step) => (typeof step === 'string' ? shownKey(step) : step));
}

/** Whether a path lies at or below another one. */
export function isUnder(path: JsonPath, prefix: JsonPath): boolean {
  return path.length >= prefix.length && prefix.every((step, index) => path[index] === step);
}

function shownKey(key: string): string {
  return key.length > SHOWN_KEY_LENGTH ? `${key.slice(0, SHOWN_KEY_LENGTH).toWellFormed()}…` : key;
}
