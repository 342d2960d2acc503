import { REDACTED, formsOf, type Forms } from './forms.policy.ts';

/** Where in a text something is to be masked: from a place, up to another. */
export type Range = readonly [start: number, end: number];

export interface Scan {
  /** In order, none touching the next. */
  readonly ranges: readonly Range[];
  /** How many characters at the end could be the beginning of a match. */
  readonly open: number;
}

const WORD_CHARACTER = /[\p{L}\p{N}_]/u;
const NO_RANGES: readonly Range[] = [];
const LATIN = 256;
const PAIRS = 4_096;
/** Two pairs may share a place: then the nodes say that nothing begins there. */
const pairOf = (char: number, next: number): number => ((char << 5) ^ next) & (PAIRS - 1);

/**
 * Finds all forms of all values in one pass over a text (Aho–Corasick), however many there are. Nodes are numbered in
 * breadth, so that the children of one follow one another and a node takes 18 bytes.
 */
export class Matcher {
  /** Numbers of JSON that are one of these are masked, too. */
  readonly values: ReadonlySet<string>;
  /** How much memory it takes, about. */
  readonly bytes: number;
  private readonly firstChild: Int32Array;
  private readonly chars: Uint16Array;
  private readonly fail: Int32Array;
  /** The length of the form that a node ends, or of the longest that ends within it; a word's is negative. */
  private readonly ends: Int32Array;
  /** The next shorter node that ends a form. */
  private readonly shorter: Int32Array;
  private readonly depth: Int32Array;
  private readonly fromRoot = new Int32Array(LATIN);
  /** The first two characters of each form. */
  private readonly pairs = new Uint8Array(PAIRS);

  constructor({ long, words, values }: Forms) {
    this.values = values;
    const root = trieOf(long, words);
    const nodes = inBreadth(root);
    this.firstChild = new Int32Array(nodes.length + 1);
    this.chars = new Uint16Array(nodes.length);
    this.fail = new Int32Array(nodes.length);
    this.ends = new Int32Array(nodes.length);
    this.shorter = new Int32Array(nodes.length);
    this.depth = new Int32Array(nodes.length);
    this.bytes = nodes.length * 22 + [...values].reduce((sum, value) => sum + 2 * value.length, 8_192);
    this.number(nodes);
  }

  static of(values: Iterable<string>): Matcher {
    return new Matcher(formsOf(values));
  }

  get isEmpty(): boolean {
    return this.chars.length === 1;
  }

  /** `hasWords`: short values count, too. */
  scan(text: string, hasWords = true): Scan {
    const { ends, fromRoot } = this;
    let ranges: Range[] | undefined;
    let node = 0;
    for (let index = 0; index < text.length; index += 1) {
      if (node === 0) index = this.nextBeginning(text, index);
      const char = text.charCodeAt(index);
      if (node === 0 && char < LATIN) node = fromRoot[char] as number;
      else node = this.step(node, char);
      if (node === 0 || ends[node] === 0) continue;
      const length = this.longestAt(text, node, index + 1, hasWords);
      if (length > 0) join((ranges ??= []), index + 1 - length, index + 1);
    }
    return { ranges: ranges ?? NO_RANGES, open: this.openAt(node) };
  }

  /**
   * Whether none of the forms stands in a text, words in the middle of others included: of a document that is clean as JSON
   * all texts, keys and numbers are.
   */
  isClean(text: string): boolean {
    const { ends, fromRoot } = this;
    let node = 0;
    for (let index = 0; index < text.length; index += 1) {
      if (node === 0) index = this.nextBeginning(text, index);
      const char = text.charCodeAt(index);
      if (node === 0 && char < LATIN) node = fromRoot[char] as number;
      else node = this.step(node, char);
      if (ends[node] !== 0) return false;
    }
    return true;
  }

  /** Where the next form may begin, from a place on: most pairs of characters begin none. The last character may begin any. */
  private nextBeginning(text: string, from: number): number {
    const { pairs } = this;
    const last = text.length - 1;
    let char = text.charCodeAt(from);
    for (let index = from; index < last; index += 1) {
      const next = text.charCodeAt(index + 1);
      if (pairs[pairOf(char, next)] !== 0) return index;
      char = next;
    }
    return last;
  }

  private step(from: number, char: number): number {
    let node = from;
    for (;;) {
      const last = this.firstChild[node + 1] as number;
      for (let child = this.firstChild[node] as number; child < last; child += 1)
        if (this.chars[child] === char) return child;
      if (node === 0) return 0;
      node = this.fail[node] as number;
      if (node === 0 && char < LATIN) return this.fromRoot[char] as number;
    }
  }

  /** A form that is complete is the beginning of nothing, unless it is that of another. */
  private openAt(node: number): number {
    let at = node;
    while (at !== 0 && this.firstChild[at] === this.firstChild[at + 1]) at = this.fail[at] as number;
    return this.depth[at] as number;
  }

  /** Of the forms that end here; 0 where they are words and the text goes on. */
  private longestAt(text: string, node: number, end: number, hasWords: boolean): number {
    for (let at = node; at !== 0; at = this.shorter[at] as number) {
      const length = this.ends[at] as number;
      if (length > 0) return length;
      if (length < 0 && hasWords && isWord(text, end + length, end)) return -length;
    }
    return 0;
  }

  private number(nodes: readonly Node[]): void {
    let next = 1;
    for (const [index, node] of nodes.entries()) {
      this.firstChild[index] = next;
      for (const [char, child] of node.children) {
        this.chars[next] = char;
        this.depth[next] = (this.depth[index] as number) + 1;
        this.fail[next] = index === 0 ? 0 : this.step(this.fail[index] as number, char);
        const suffix = this.fail[next] as number;
        this.ends[next] = child.ends;
        this.shorter[next] = this.ends[suffix] === 0 ? 0 : suffix;
        if (child.ends === 0 && this.shorter[next] !== 0) {
          this.ends[next] = this.ends[suffix] as number;
          this.shorter[next] = this.shorter[suffix] as number;
        }
        if (index === 0 && char < LATIN) this.fromRoot[char] = next;
        if (this.depth[next] === 2) this.pairs[pairOf(this.chars[index] as number, char)] = 1;
        next += 1;
      }
      this.firstChild[index + 1] = next;
    }
  }
}

/** The text with a mark in the place of each range. */
export function replaced(text: string, ranges: readonly Range[]): string {
  let result = '';
  let last = 0;
  for (const [start, end] of ranges) {
    result += text.slice(last, start) + REDACTED;
    last = end;
  }
  return result + text.slice(last);
}

/** Adds a range behind the others, or joins it with those that it touches. */
function join(ranges: Range[], start: number, end: number): void {
  let from = start;
  for (let last = ranges.at(-1); last && last[1] >= from; last = ranges.at(-1)) {
    from = Math.min(from, last[0]);
    ranges.pop();
  }
  ranges.push([from, end]);
}

/** Whether what stands there is no part of a longer word. */
function isWord(text: string, start: number, end: number): boolean {
  const goesOn = (inner: number, outer: number): boolean =>
    WORD_CHARACTER.test(text.charAt(inner)) && WORD_CHARACTER.test(text.charAt(outer));
  return !(start > 0 && goesOn(start, start - 1)) && !(end < text.length && goesOn(end - 1, end));
}

interface Node {
  readonly children: Map<number, Node>;
  ends: number;
}

function trieOf(long: Iterable<string>, words: Iterable<string>): Node {
  const root: Node = { children: new Map(), ends: 0 };
  const add = (form: string, ends: number): void => {
    let node = root;
    for (let index = 0; index < form.length; index += 1) {
      const char = form.charCodeAt(index);
      let child = node.children.get(char);
      if (!child) node.children.set(char, (child = { children: new Map(), ends: 0 }));
      node = child;
    }
    node.ends = ends;
  };
  for (const form of words) add(form, -form.length);
  for (const form of long) add(form, form.length);
  return root;
}

function inBreadth(root: Node): Node[] {
  const nodes = [root];
  for (const node of nodes) nodes.push(...node.children.values());
  return nodes;
}
