import type { z } from 'zod';
import type { InputParts } from '../../../src/platform/operation/input.ts';
import type { Operation } from '../../../src/platform/operation/operation.ts';
import type { Output } from '../../../src/platform/operation/output.ts';
import type { Tenant } from '../../contract/tenant.ts';

/** One valid input of an operation, as a caller sends it. Of a frame, `body` is the payload. */
export interface Sample {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Of a frame: what stands around the payload. */
  readonly envelope?: { readonly stream: string; readonly seq: number };
  /** The worker token to send it with, where the input is one worker's own; or the cookie of a session. */
  readonly token?: string;
  /** Where even a valid call is answered otherwise than with the declared success. */
  readonly answers?: number;
  /** Where the service asks for a row by itself because of what this call changes. */
  readonly leavesRow?: true;
}

/** Makes what the input names in the account, so that the call succeeds. */
type MakeSample = (tenant: Tenant) => Promise<Sample>;

type Sent<Parts extends InputParts> = Pick<
  Sample,
  'query' | 'headers' | 'token' | 'envelope' | 'answers' | 'leavesRow'
> & {
  readonly [Part in keyof Parts & ('path' | 'body')]: Parts[Part] extends z.ZodType ? z.input<Parts[Part]> : never;
};

/** An operation, and how to make a valid input for it. */
export interface Sampled {
  readonly op: Operation;
  readonly make: MakeSample;
}

/** One operation with its sample, as the list of all samples has it. */
export function sample<Parts extends InputParts, Declared extends Output>(
  op: Operation<Parts, Declared>,
  make: (tenant: Tenant) => Promise<Sent<Parts>>,
): readonly [id: string, sampled: Sampled] {
  return [op.id, { op: op as unknown as Operation, make: make as MakeSample }];
}

export const nothing = async () => ({});
