import type { z } from 'zod';

/** What an operation returns for a list that is too long to be held as objects: it gives its items one by one. */
export class LongList<Item> {
  readonly giveTo: (take: (item: Item) => void) => Promise<void>;

  /** `giveTo` runs in the operation's transaction, once, and gives what it gives before it resolves. */
  constructor(giveTo: (take: (item: Item) => void) => Promise<void>) {
    this.giveTo = giveTo;
  }
}

/** The JSON of a list, in pieces: whoever sends it never has it as one text. */
export class WrittenList {
  readonly pieces: readonly Buffer[];
  readonly bytes: number;

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces;
    this.bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  }
}

const PIECE_LENGTH = 64 * 1024;

/** Writes each item as its schema lets it out, and lets go of it. */
export class ListWriter {
  private readonly item: z.ZodType;
  private readonly pieces: Buffer[] = [];
  private text = '[';
  private isFirst = true;

  constructor(item: z.ZodType) {
    this.item = item;
  }

  /** @throws Error for an item that the schema does not know. */
  add(item: unknown): void {
    this.text += `${this.isFirst ? '' : ','}${JSON.stringify(this.item.parse(item))}`;
    this.isFirst = false;
    if (this.text.length >= PIECE_LENGTH) this.cut();
  }

  end(): WrittenList {
    this.text += ']';
    this.cut();
    return new WrittenList(this.pieces);
  }

  private cut(): void {
    this.pieces.push(Buffer.from(this.text)); // outside of the heap
    this.text = '';
  }
}
