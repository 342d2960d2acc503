/**
 * Until when a caller waits for an operation's answer. Whoever is late was answered without it, so nothing may be handed to
 * that caller any more.
 */
export class Deadline {
  /** Resolves when the time is over; never, once it was called off. */
  readonly passed: Promise<void>;
  private readonly endsAt: number;
  private readonly timer: NodeJS.Timeout;
  private over = false;

  /** `now` is a clock that only goes forward, in milliseconds. */
  constructor(
    private readonly now: () => number,
    milliseconds: number,
  ) {
    this.endsAt = now() + milliseconds;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.passed = promise;
    this.timer = setTimeout(() => {
      this.over = true;
      resolve();
    }, milliseconds);
  }

  get isOver(): boolean {
    return this.over;
  }

  leftMs(): number {
    return this.over ? 0 : Math.max(0, this.endsAt - this.now());
  }

  /** It was answered in time. */
  callOff(): void {
    clearTimeout(this.timer);
  }
}
