/** Forgotten all at once when there are more: each is learned again by one claim. */
const REMEMBERED_MAX = 50_000;

/**
 * What need not be asked, for a while: which agents have no queued run. Whoever looks notes the agent's generation first;
 * a poke that comes between the look and its result raises it, and the result is then worth nothing.
 */
export class IdleMarks {
  private readonly marks = new Map<string, { readonly until: number; readonly hasLiveRun: boolean }>();
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
  note(agentKey: string, generation: number, mark: { readonly until: number; readonly hasLiveRun: boolean }): void {
    if (this.generationOf(agentKey) !== generation) return;
    if (this.marks.size >= REMEMBERED_MAX) this.marks.clear();
    this.marks.set(agentKey, mark);
  }

  /**
   * Whether a claim finds nothing for certain. While the agent has a live run, only a worker that is known to hold nothing
   * may be believed: one that claims while it holds a run has lost it, and the rows must hear of that.
   */
  isIdle(agentKey: string, isKnownFree: boolean, now: number): boolean {
    const mark = this.marks.get(agentKey);
    return mark !== undefined && mark.until > now && (isKnownFree || !mark.hasLiveRun);
  }
}
