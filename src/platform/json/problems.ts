/** One reason why an input was refused, in the shape the REST contract promises (contract.md C4). */
export interface InputProblem {
  /** Begins with the part's name: `path`, `query`, `headers` or `body`. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}
