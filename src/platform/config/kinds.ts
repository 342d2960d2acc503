import net from 'node:net';
import { z } from 'zod';

// The types that settings have: each reads the text of an environment variable, and says in words what it must be.

function isAddressOrCidr(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[net.isIP(address)] ?? -1;
  return (
    more.length === 0 && longest > 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest))
  );
}

export const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`);
/** A length of time, also fractions of its unit: tests run the product's waits at a tenth. */
const span = (unit: 'seconds' | 'minutes' | 'hours') => (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, `must be a number of ${unit} from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a number of ${unit} from ${min} to ${max}`);
export const seconds = span('seconds');
export const minutes = span('minutes');
export const hours = span('hours');
/** A length of time that may also be negative. */
export const shift = (most: number) =>
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, `must be a number of seconds from -${most} to ${most}`)
    .transform(Number)
    .refine((value) => Math.abs(value) <= most, `must be a number of seconds from -${most} to ${most}`);
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);
export const addresses = list.refine(
  (parts) => parts.every(isAddressOrCidr),
  'must be addresses or CIDRs, comma-separated',
);
const HOST_NAME = /^[a-z\d]([\w-]{0,61}[a-z\d])?(\.[a-z\d]([\w-]{0,61}[a-z\d])?)*$/i;
const isHostName = (text: string) => HOST_NAME.test(text) && !/(^|\.)\d+$/.test(text);
export const hosts = list.refine(
  (parts) => parts.every((part) => isAddressOrCidr(part) || isHostName(part)),
  'must be host names, addresses or CIDRs, comma-separated',
);
export const httpUrl = z
  .string()
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), 'must be an http or https address')
  .transform((text) => text.replace(/\/+$/, ''));
const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || host.startsWith('127.');
/** Kept as it is written: a provider's name for itself may end with a slash. */
export const issuer = z
  .string()
  .refine(
    (text) =>
      URL.canParse(text) &&
      (text.startsWith('https://') || (text.startsWith('http://') && isLoopback(new URL(text).hostname))),
    'must be an https address; http for a loopback address only',
  );
export const databaseUrl = z
  .string()
  .refine((text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text), 'must be a postgresql:// address');
export const redisUrl = z
  .string()
  .refine((text) => /^rediss?:\/\//.test(text) && URL.canParse(text), 'must be a redis:// address');
export const email = z.string().regex(/^[^@\s]+@[^@\s]+$/, 'must be a mail address');
export const bytes = (max: number) => whole(1024, max);
export const MiB = 1024 * 1024;
