/** Looks that one statement makes together. */
const TOGETHER = 500;

type FindMany<Found> = (secretHashes: readonly Uint8Array[]) => Promise<ReadonlyMap<string, Found>>;

interface Waiting<Found> {
  readonly secretHash: Uint8Array;
  readonly key: string;
  readonly resolve: (found: Found | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks for secrets with one connection at most: whoever comes while a look is under way waits for the next, and shares it. So a
 * good secret among thousands that nobody has waits for a statement or two, and never for a turn of its own.
 */
export class Lane<Found> {
  private waiting: Waiting<Found>[] = [];
  private isUnderWay = false;
  private readonly findMany: FindMany<Found>;

  constructor(findMany: FindMany<Found>) {
    this.findMany = findMany;
  }

  /** `key` is what `findMany` calls the secret. */
  find(secretHash: Uint8Array, key: string): Promise<Found | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ secretHash, key, resolve, reject });
      if (!this.isUnderWay) void this.goOn();
    });
  }

  private async goOn(): Promise<void> {
    this.isUnderWay = true;
    while (this.waiting.length > 0) await this.look(this.waiting.splice(0, TOGETHER));
    this.isUnderWay = false;
  }

  /** Never throws: each hears of it. */
  private async look(together: readonly Waiting<Found>[]): Promise<void> {
    try {
      const found = await this.findMany(together.map(({ secretHash }) => secretHash));
      for (const { key, resolve } of together) resolve(found.get(key));
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }
}
