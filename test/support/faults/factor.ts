/**
 * One factor for all fault tests: every wait of the product and of the tests is its true length times this. A tenth by
 * default, for each change; `npm run soak` runs the same tests with 1.
 */
export const FACTOR = Number(process.env['SIGNALBOX_FAULT_FACTOR'] ?? '0.1');

/** Whether the waits have their true lengths: then there is more load, too. */
export const IS_SOAK = FACTOR >= 1;

/** Milliseconds of a wait that truly takes `seconds`. */
export function scaled(seconds: number): number {
  return seconds * FACTOR * 1_000;
}

/** How much load there is: little by default, more in the soak. */
export function amount({ short, soak }: { readonly short: number; readonly soak: number }): number {
  return IS_SOAK ? soak : short;
}

/** When a test is given up, in milliseconds: far beyond what it takes, which is `seconds` of true length and the starting of processes. */
export function patience(seconds: number): number {
  return 240_000 + 2 * scaled(seconds);
}

/** The waits of the product, by their settings, as long as the factor makes them. `changed` are true lengths over the defaults. */
export function scaledSettings(changed: Readonly<Record<string, number>> = {}): Record<string, string> {
  const lengths: Record<string, number> = { ...TRUE_SECONDS, ...changed };
  return Object.fromEntries(
    Object.entries(lengths).map(([name, seconds]) => [
      `SIGNALBOX_${name}_SECONDS`,
      String(Number((seconds * FACTOR).toFixed(3))),
    ]),
  );
}

const TRUE_SECONDS = {
  SILENT_LIMIT: 900,
  RUN_LIMIT: 3_600,
  QUEUE_TTL: 3_600,
  OFFER: 90,
  CLOSED_OFFER: 6,
  CLOSED_LOST: 15,
  UNACKED: 20,
  FAILED_OFFER: 2,
  PRESENCE_WINDOW: 90,
  HEARTBEAT_WINDOW: 35,
  CLAIM_WINDOW: 25,
  CHANNEL_PING: 5,
  INVOKE_UNREACHABLE: 60,
  SWEEP: 2,
};
