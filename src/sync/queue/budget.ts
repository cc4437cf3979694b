/** How many calls of a node all workers may make together. */
export interface Budget {
  /** Calls a second. */
  readonly rate: number;
  /** Calls that may be made at once, where there were none for a while. */
  readonly burst: number;
}
