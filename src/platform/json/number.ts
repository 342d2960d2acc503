/**
 * Whether a JSON number can be read as a double and written again without becoming another number. Integers must come
 * back exactly as they were (2^60 is a double, but JavaScript writes it as another integer); a fraction may be rounded,
 * as every JSON reader does; nothing may become Infinity.
 */
export function isKeptByDouble(literal: string): boolean {
  const value = Number(literal);
  if (Number.isSafeInteger(value)) return true;
  if (!Number.isFinite(value)) return false;
  return !/^-?\d+$/.test(literal) || writtenInteger(value) === literal;
}

/** All digits of what JSON.stringify writes for a whole number: it writes 1e+21 from there on. */
function writtenInteger(value: number): string {
  const [mantissa = '', exponent] = String(value).split('e');
  if (exponent === undefined) return mantissa;
  const [whole = '', fraction = ''] = mantissa.split('.');
  return whole + fraction.padEnd(Number(exponent), '0');
}
