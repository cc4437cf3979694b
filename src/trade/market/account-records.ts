import type { AccountBalance } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Order, Position } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import type { StopOrderRecord } from "../../data/listing/listings.js";

/** The records of an account, by kind. */
export interface AccountRecords {
  readonly order: Order;
  readonly stopOrder: StopOrderRecord;
  readonly position: Position;
  readonly balance: AccountBalance;
}

/** A kind of records of an account. */
export type RecordKind = keyof AccountRecords;

export const KINDS: readonly RecordKind[] = ["order", "stopOrder", "position", "balance"];

/** The change of one record of an account. */
export type AccountChange = { [K in RecordKind]: RecordChange<K> }[RecordKind];

/** The change of one record of a kind. */
export interface RecordChange<K extends RecordKind> {
  readonly kind: K;
  /**
   * The record after the change. If it is no longer listed, the last known record; an order or stop order has the status with which
   * it ended, as far as the node returns it.
   */
  readonly record: AccountRecords[K];
  /** The record before the change; undefined if it was not listed. */
  readonly previous: AccountRecords[K] | undefined;
  /** Whether the record is listed after the change. An order is listed as long as it is live, a stop order as long as it is pending. */
  readonly isListed: boolean;
}

/** How a listing compares with what is known: as new, perhaps without what events have shown, or older than one before. */
export type Listed = "current" | "behind" | "outdated";

/** How the records of a kind are listed and compared. */
export interface RecordRules<T> {
  list(): Promise<T[]>;
  /** Returns the key of a record: no two listed records have the same. */
  keyOf(record: T): string;
  isEqual(a: T, b: T): boolean;
  /** Returns whether a record is certainly older than another one with the same key. */
  isOlder(a: T, b: T): boolean;
  /** Returns whether a listing contradicts the events. */
  isOutdated?(listed: readonly T[]): boolean;
  /** Prepares {@link lastOf} for the records that a listing lacks. */
  beforeReplace?(listed: readonly T[]): Promise<void>;
  /** Returns the last version of a record that is no longer listed; by default, the one that was listed. */
  lastOf?(record: T): T;
}

/** Compares listings with the events. */
export interface ListingEvents {
  /** Returns whether a listing may lack what an event has shown. What it has is no longer awaited. */
  isOlder<K extends RecordKind>(
    kind: K,
    listed: ReadonlyMap<string, AccountRecords[K]>,
    until: bigint | undefined,
  ): boolean;
}

/** The maximum number of records of a kind. */
export const MAX_RECORDS = 100_000;

/** Creates an empty set of the latest records of a kind. */
export function createRecordSet<K extends RecordKind>(
  kind: K,
  rules: RecordRules<AccountRecords[K]>,
  awaited: ListingEvents,
  report: (changes: readonly RecordChange<K>[]) => void,
) {
  let records: ReadonlyMap<string, AccountRecords[K]> = new Map();
  return {
    list: () => [...records.values()],

    /** Lists the records, and replaces the known ones if the listing is as new as what is known. */
    async refresh(until: bigint | undefined): Promise<Listed> {
      const listed = await rules.list();
      // Nothing may be awaited between the listing and its comparison with the events.
      const next = new Map(listed.map((record) => [rules.keyOf(record), record]));
      if (rules.isOutdated?.(listed) === true) {
        return "outdated";
      }
      if (awaited.isOlder(kind, next, until)) {
        return "behind";
      }
      await rules.beforeReplace?.(listed);
      const changes: RecordChange<K>[] = [];
      for (const [key, record] of next) {
        const previous = records.get(key);
        if (previous !== undefined && rules.isOlder(record, previous)) {
          return "outdated";
        }
        if (previous === undefined || !rules.isEqual(record, previous)) {
          changes.push({ kind, record, previous, isListed: true });
        }
      }
      for (const [key, previous] of records) {
        if (!next.has(key)) {
          changes.push({ kind, record: rules.lastOf?.(previous) ?? previous, previous, isListed: false });
        }
      }
      records = next;
      report(changes);
      return "current";
    },
  };
}

/**
 * Collects the records of a listing.
 *
 * @throws {@link ProtocolError} if there are more than 100 000
 */
export async function collectRecords<T>(listed: AsyncIterable<{ readonly node: T }>): Promise<T[]> {
  const records: T[] = [];
  for await (const { node } of listed) {
    if (records.length === MAX_RECORDS) {
      throw new ProtocolError(`the account has more than ${MAX_RECORDS} records of one kind`, {
        code: Code.ResourceExhausted,
        advice: "Read the records page by page with client.records instead.",
      });
    }
    records.push(node);
  }
  return records;
}
