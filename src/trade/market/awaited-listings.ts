import { setBounded } from "../../base/signal/collections.js";
import { type AccountRecords, KINDS, MAX_RECORDS, type RecordKind } from "./account-records.js";

/**
 * What events have shown and listings may lack. A data node sends the events of a block before it commits the block, and
 * commits a block completely before it begins the next one (v0.78.0, `processBlock` in datanode/broker/sqlstore_broker.go).
 * So a listing that was requested after the data node began a later block has everything from a block; an earlier listing is older
 * if it lacks what an event of that block has shown.
 */
export interface AwaitedListings {
  /** A block began, at a time in Unix nanoseconds. */
  begun(block: bigint, time: bigint): void;
  /** An event of a block showed a record. `isIn` returns whether a listed record is that one or a newer one. */
  shown<K extends RecordKind>(
    kind: K,
    key: string,
    block: bigint,
    isIn: (listed: AccountRecords[K] | undefined, blockTime: bigint | undefined) => boolean,
  ): void;
  /** An event showed that a record ended: its listing is no longer awaited. */
  ended(kind: RecordKind, key: string): void;
  /** Records of a kind may have changed in a block or before, without an event that shows how. */
  changed(kind: RecordKind, block: bigint): void;
  /** The kinds whose latest listing may lack changes. */
  kinds(): RecordKind[];
  /** Compares a listing with the events. What it has is no longer awaited. */
  isOlder<K extends RecordKind>(
    kind: K,
    listed: ReadonlyMap<string, AccountRecords[K]>,
    until: bigint | undefined,
  ): boolean;
}

/** A record that an event has shown. */
interface Shown<T> {
  readonly block: bigint;
  readonly isIn: (listed: T | undefined, blockTime: bigint | undefined) => boolean;
}

/** The maximum number of blocks whose times are stored. */
const MAX_BLOCKS = 1000;

/** Creates the list of what events have shown and listings may lack. */
export function createAwaitedListings(): AwaitedListings {
  const times = new Map<bigint, bigint>();
  const records: { readonly [K in RecordKind]: Map<string, Shown<AccountRecords[K]>> } = {
    order: new Map(),
    position: new Map(),
    balance: new Map(),
  };
  const changes = new Map<RecordKind, bigint>();

  /** Returns the last block that a data node has begun at a time: it has committed all blocks before. */
  function begunBy(until: bigint | undefined): bigint {
    let last = -1n;
    for (const [block, time] of times) {
      if (until !== undefined && block > last && time / 1000n <= until / 1000n) {
        last = block;
      }
    }
    return last;
  }

  return {
    begun(block, time) {
      setBounded(times, block, time, MAX_BLOCKS);
    },
    shown(kind, key, block, isIn) {
      setBounded(records[kind], key, { block, isIn }, MAX_RECORDS);
    },
    ended(kind, key) {
      records[kind].delete(key);
    },
    changed(kind, block) {
      const known = changes.get(kind);
      changes.set(kind, known === undefined || known < block ? block : known);
    },
    kinds: () => KINDS.filter((kind) => changes.has(kind) || records[kind].size > 0),
    isOlder(kind, listed, until) {
      const begun = begunBy(until);
      if ((changes.get(kind) ?? begun) < begun) {
        changes.delete(kind);
      }
      for (const [key, { block, isIn }] of records[kind]) {
        if (block < begun || isIn(listed.get(key), times.get(block))) {
          records[kind].delete(key);
        }
      }
      return records[kind].size > 0;
    },
  };
}
