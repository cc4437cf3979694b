/** The state of a record in time. A listing and the events may have different states of one record. */
export interface RecordAge {
  /** How often the record was changed, where records of its kind count that. */
  readonly version?: bigint;
  /** The time of the last change, in Unix nanoseconds. */
  readonly updatedAt: bigint;
}

/** PostgreSQL stores no smaller part of a time, and events have nanoseconds (v0.78.0, datanode/entities/orders.go). */
const MICROSECOND_NS = 1000n;

/**
 * Returns whether a state of a record is older than another one: by their versions, or if these are equal, by their times in
 * microseconds, as data nodes store them.
 */
export function isOlder(one: RecordAge, other: RecordAge): boolean {
  const [version = 0n, otherVersion = 0n] = [one.version, other.version];
  return (
    version < otherVersion ||
    (version === otherVersion && one.updatedAt / MICROSECOND_NS < other.updatedAt / MICROSECOND_NS)
  );
}
