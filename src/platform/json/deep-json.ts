/**
 * A list or object that stands so deep that it was checked but not built: its text as it was sent. Millions of levels fit
 * into one body; built, they would take half a gigabyte, and JSON.stringify and structuredClone overflow the stack at
 * some 3,000.
 */
export class DeepJson {
  readonly text: string;
  /** How deep it is nested itself. */
  readonly depth: number;

  constructor(text: string, depth: number) {
    this.text = text;
    this.depth = depth;
  }

  /** Where nobody replaced it, it is written as text. */
  toJSON(): string {
    return this.text;
  }
}
