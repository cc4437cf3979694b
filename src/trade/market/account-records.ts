import { Code } from "@connectrpc/connect";
import type { AccountBalance } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Order, Position } from "../../../gen/vega/vega_pb.js";
import { ProtocolError } from "../../base/errors/index.js";

/** The records of an account, by kind. */
export interface AccountRecords {
  readonly order: Order;
  readonly position: Position;
  readonly balance: AccountBalance;
}

/** A kind of records of an account. */
export type RecordKind = keyof AccountRecords;

export const KINDS: readonly RecordKind[] = ["order", "position", "balance"];

/** The change of one record of an account. */
export type AccountChange = { [K in RecordKind]: RecordChange<K> }[RecordKind];

/** The change of one record of a kind. */
export interface RecordChange<K extends RecordKind> {
  readonly kind: K;
  /**
   * The record after the change. If it is no longer listed, the last known record; for an order, with the status with which it ended, as far as
   * the node returns it.
   */
  readonly record: AccountRecords[K];
  /** The record before the change; undefined if it was not listed. */
  readonly previous: AccountRecords[K] | undefined;
  /** Whether the record is listed after the change. An order is listed as long as it is live. */
  readonly isListed: boolean;
}

/** The rules that distinguish the records of a kind. */
export interface RecordRules<T> {
  /** Returns the key of a record: no two listed records have the same. */
  keyOf(record: T): string;
  isEqual(a: T, b: T): boolean;
  /** Returns whether a record is certainly older than another one with the same key. */
  isOlder(a: T, b: T): boolean;
}

/** The latest records of one kind. */
export interface RecordSet<K extends RecordKind> {
  list(): AccountRecords[K][];
  get(key: string): AccountRecords[K] | undefined;
  /** Replaces the records with those of a newer listing. */
  replace(
    listed: readonly AccountRecords[K][],
    lastOf: (record: AccountRecords[K]) => AccountRecords[K],
  ): RecordChange<K>[] | undefined;
}

/** The maximum number of records of a kind. */
export const MAX_RECORDS = 100_000;

/** Creates an empty set of records. */
export function createRecordSet<K extends RecordKind>(kind: K, rules: RecordRules<AccountRecords[K]>): RecordSet<K> {
  type R = AccountRecords[K];
  let records: ReadonlyMap<string, R> = new Map();
  return {
    list: () => [...records.values()],
    get: (key) => records.get(key),
    replace(listed, lastOf) {
      const next = new Map(listed.map((record) => [rules.keyOf(record), record]));
      const changes: RecordChange<K>[] = [];
      for (const [key, record] of next) {
        const previous = records.get(key);
        if (previous !== undefined && rules.isOlder(record, previous)) {
          return undefined;
        }
        if (previous === undefined || !rules.isEqual(record, previous)) {
          changes.push({ kind, record, previous, isListed: true });
        }
      }
      for (const [key, previous] of records) {
        if (!next.has(key)) {
          changes.push({ kind, record: lastOf(previous), previous, isListed: false });
        }
      }
      records = next;
      return changes;
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
