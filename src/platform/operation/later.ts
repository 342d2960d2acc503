/** What a handler returns when its answer is only known after the commit: a waiting invoke. */
export class Later<Result> {
  readonly finish: () => Promise<Result>;
  /** Kept under the idempotency key: a repeated call finds it in `ctx.repeated`. */
  readonly memo: unknown;

  constructor(finish: () => Promise<Result>, memo: unknown) {
    this.finish = finish;
    this.memo = memo;
  }
}

/**
 * Answers after the commit and the pokes: `finish` runs once, with no transaction around it (it reads through
 * `ctx.briefly`), and its value goes through the operation's output schema.
 */
export function later<Result>(finish: () => Promise<Result>, memo: unknown = null): Later<Result> {
  return new Later(finish, memo);
}
