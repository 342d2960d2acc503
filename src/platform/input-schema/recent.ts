/** A bounded map that forgets what was used longest ago. */
export class Recent<Value> {
  private readonly entries = new Map<string, { readonly value: Value; readonly weight: number }>();
  private readonly limit: number;
  private weight = 0;

  /** The limit is of the entries' weights together. */
  constructor(limit: number) {
    this.limit = limit;
  }

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key); // a Map keeps the order in which keys came
    this.entries.set(key, entry);
    return entry.value;
  }

  /** The newest entry stays even if it is too heavy by itself. */
  set(key: string, value: Value, weight = 1): void {
    this.weight += weight - (this.entries.get(key)?.weight ?? 0);
    this.entries.delete(key);
    for (const [oldest, entry] of this.entries) {
      if (this.weight <= this.limit) break;
      this.entries.delete(oldest);
      this.weight -= entry.weight;
    }
    this.entries.set(key, { value, weight });
  }
}
