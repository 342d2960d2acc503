/** Forgotten all at once when there are more: each is learned again by one claim. */
const REMEMBERED_MAX = 50_000;

/**
 * What need not be asked, for a while: which agents have no queued run. Whoever looks notes the agent's generation first;
 * a poke that comes between the look and its result raises it, and the result is then worth nothing.
 */
export class IdleMarks {
  /** Until when it is believed that an agent has nothing queued. */
  private readonly marks = new Map<string, number>();
  private readonly generations = new Map<string, number>();
  private everything = 0;

  /** Something about the agent changed: ask again. */
  clear(agentKey: string): void {
    this.marks.delete(agentKey);
    if (this.generations.size >= REMEMBERED_MAX) this.clearAll();
    this.generations.set(agentKey, this.generationOf(agentKey) + 1);
  }

  clearAll(): void {
    this.everything += REMEMBERED_MAX * 2; // beyond what any agent's own count can have reached meanwhile
    this.marks.clear();
    this.generations.clear();
  }

  generationOf(agentKey: string): number {
    return this.everything + (this.generations.get(agentKey) ?? 0);
  }

  /** An empty claim was answered that began when the agent was at `generation`. */
  note(agentKey: string, generation: number, until: number): void {
    if (this.generationOf(agentKey) !== generation) return;
    if (this.marks.size >= REMEMBERED_MAX) this.marks.clear();
    this.marks.set(agentKey, until);
  }

  /** The last answer was empty, and nothing was heard of the agent since. */
  wasIdle(agentKey: string): boolean {
    return this.marks.has(agentKey);
  }

  isIdle(agentKey: string, now: number): boolean {
    return (this.marks.get(agentKey) ?? 0) > now;
  }
}
