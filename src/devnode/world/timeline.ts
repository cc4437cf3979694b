/** Where a record of a timeline stands. */
export interface Place {
  /** The height of the block that brought it. */
  readonly height: bigint;
  /** The place among the records of the block, from 0. */
  readonly index: number;
}

/** A record and its place. */
export interface Placed<T> {
  readonly place: Place;
  readonly value: T;
}

/** A record of a block, and the time of the block in Unix nanoseconds. */
export interface Timed<T> {
  readonly time: bigint;
  readonly value: T;
}

/** Records in the order in which they came: those of the history, and behind them those that blocks have brought since. */
export interface Timeline<T> {
  /**
   * Read records.
   *
   * @param newestFirst whether the last one comes first
   * @param beyond only what comes behind this place, in the direction of reading; all by default
   * @returns the records, each made when its turn comes
   */
  read(newestFirst: boolean, beyond?: Place): Iterable<Placed<T>>;
  /** Find a record by its identifier, 64 hex digits in lower case. */
  find(id: string): T | undefined;
}
