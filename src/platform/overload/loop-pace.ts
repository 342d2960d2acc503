/** Rounds longer than this make everybody slow: a dispatch needs two dozen of them. */
const LONG_ROUND_MS = 8;
/** How much of a new measurement counts. */
const NEWEST = 0.2;
/** After so long without a measurement nothing is known. */
const KNOWN_MS = 1_000;

/** How long the event loop takes to pass by everything that has arrived: measured only when asked, since measuring keeps it awake. */
export class LoopPace {
  private roundMs = 0;
  private measuredAt = Number.NEGATIVE_INFINITY;
  private isMeasuring = false;

  /** Measures the next round. */
  measure(): void {
    if (this.isMeasuring) return;
    this.isMeasuring = true;
    setImmediate(() => {
      const beganAt = performance.now();
      setImmediate(() => {
        this.isMeasuring = false;
        this.measuredAt = performance.now();
        this.roundMs += NEWEST * (this.measuredAt - beganAt - this.roundMs);
      });
    });
  }

  /** Whether rounds have been long of late. */
  get isBehind(): boolean {
    return this.roundMs > LONG_ROUND_MS && performance.now() - this.measuredAt < KNOWN_MS;
  }
}

/** The one of this process, which has one event loop. */
export const loopPace = new LoopPace();
