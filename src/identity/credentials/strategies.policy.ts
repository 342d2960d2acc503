import passport from 'passport';
import type { Actor } from '../../platform/operation/actor.ts';

/** How the two kinds of credential open: `undefined` where the caller shows none of that kind. */
export interface Openers {
  readonly bearer: () => Promise<Actor> | undefined;
  readonly session: () => Promise<Actor> | undefined;
}

/** What passport calls a request; it hangs things of its own on it. */
interface Asked {
  readonly openers: Openers;
}

/** What passport gives a strategy for the time of one call. */
interface Judging {
  success(actor: object): void;
  fail(challenge: string): void;
  error(error: unknown): void;
}

/** One kind of credential. What it refuses is refused: no other kind rescues it. */
class OneKind extends passport.Strategy {
  override readonly name: keyof Openers;

  constructor(name: keyof Openers) {
    super();
    this.name = name;
  }

  override authenticate(asked: unknown): void {
    const judging = this as unknown as Judging;
    const opening = (asked as Asked).openers[this.name]();
    if (opening === undefined) judging.fail(this.name);
    else
      opening.then(
        (actor) => judging.success(actor),
        (error: unknown) => judging.error(error),
      );
  }
}

const strategies = new passport.Authenticator();
/** A bearer secret goes first: a script that shows one means it, whatever its browser sends along. */
const ORDER = ['bearer', 'session'] as const;
for (const name of ORDER) strategies.use(new OneKind(name));

/** Who calls, by the first kind of credential that is shown; undefined where none is. @throws what that kind refuses with. */
export function decide(openers: Openers): Promise<Actor | undefined> {
  return new Promise((resolve, reject) => {
    const heard = (error: Error | null, actor: unknown): void => {
      if (error) reject(error);
      else resolve(actor === false ? undefined : (actor as Actor));
    };
    const judge = strategies.authenticate([...ORDER], { session: false }, heard) as (...call: unknown[]) => void;
    judge({ openers }, undefined, reject);
  });
}
