import type { Block, BlockEvent, Event } from "./block-event.js";
import { copyOnWriteMap, restoreAll, type Snapshotable, saveAll } from "./copy-on-write.js";

type ValueOf<C extends Event["case"]> = Extract<Event, { readonly case: C }>["value"];

/** The latest event of a record, and its origin. */
export interface LatestEvent<T> {
  readonly value: T;
  readonly block: Block;
  /**
   * The transaction that caused it, or the block's hash for events of the block itself: 64 hex digits in lower case.
   */
  readonly txHash: string;
}

interface LatestEvents<C extends Event["case"]> {
  /** By record key, in the order of each record's first event. */
  readonly latest: ReadonlyMap<string, LatestEvent<ValueOf<C>>>;
}

/** The latest events of each kind that no other part of the world stores. */
export interface Records {
  /** By identifier. */
  readonly transfer: LatestEvents<"transfer">;
  /** By `TRANSFER EPOCH`. */
  readonly transferFees: LatestEvents<"transferFees">;
  /** By identifier. */
  readonly proposal: LatestEvents<"proposal">;
  /** By `PROPOSAL PARTY`. */
  readonly vote: LatestEvents<"vote">;
  /** By identifier. */
  readonly oracleSpec: LatestEvents<"oracleSpec">;
  /** By identifier. */
  readonly withdrawal: LatestEvents<"withdrawal">;
  readonly partyProfileUpdated: LatestEvents<"partyProfileUpdated">;
  /** By `PARTY MARKET`. */
  readonly partyMarginModeUpdated: LatestEvents<"partyMarginModeUpdated">;
}

/** Records that events update. */
export interface RecordStore extends Snapshotable {
  readonly records: Records;
  /** Stores an event. Kinds that are not in {@link Records} are ignored. */
  apply(blockEvent: BlockEvent): void;
  save(): Readonly<Record<string, unknown>>;
  restore(saved: Readonly<Record<string, unknown>>): void;
}

/** Maximum number of records of a kind. The oldest are dropped. */
const MAX_RECORDS = 100_000;

/** Creates a store of the latest events of each kind in {@link Records}. */
export function createRecordStore(): RecordStore {
  const records = {
    transfer: latestOf("transfer", ({ id }) => id),
    transferFees: latestOf("transferFees", ({ transferId, epoch }) => `${transferId} ${epoch}`),
    proposal: latestOf("proposal", ({ id }) => id),
    vote: latestOf("vote", ({ proposalId, partyId }) => `${proposalId} ${partyId}`),
    oracleSpec: latestOf("oracleSpec", ({ externalDataSourceSpec }) => externalDataSourceSpec?.spec?.id ?? ""),
    withdrawal: latestOf("withdrawal", ({ id }) => id),
    partyProfileUpdated: latestOf("partyProfileUpdated", ({ updatedProfile }) => updatedProfile?.partyId ?? ""),
    partyMarginModeUpdated: latestOf("partyMarginModeUpdated", ({ partyId, marketId }) => `${partyId} ${marketId}`),
  } satisfies Records;
  return {
    records,
    apply(blockEvent) {
      for (const kind of Object.values(records)) {
        kind.apply(blockEvent);
      }
    },
    save: () => saveAll(records),
    restore: (saved) => restoreAll(records, saved),
  };
}

function latestOf<C extends Event["case"]>(kind: C, keyOf: (value: ValueOf<C>) => string) {
  const map = copyOnWriteMap<string, LatestEvent<ValueOf<C>>>(() => []);
  return {
    get latest() {
      return map.value;
    },
    apply({ block, txHash, event: ofAnyKind }: BlockEvent): void {
      const event: UnknownEvent = ofAnyKind;
      if (!isOfKind(event, kind)) {
        return;
      }
      const { value } = event;
      const all = map.change().set(keyOf(value), { value, block, txHash });
      const [oldest] = all.size > MAX_RECORDS ? all.keys() : [];
      if (oldest !== undefined) {
        all.delete(oldest);
      }
    },
    save: () => map.save(),
    restore: (saved: Map<string, LatestEvent<ValueOf<C>>> | undefined) => map.restore(saved),
  };
}

/** An event of any kind, before its kind is known. */
interface UnknownEvent {
  readonly case: string;
  readonly value: unknown;
}

function isOfKind<C extends Event["case"]>(
  event: UnknownEvent,
  kind: C,
): event is { readonly case: C; readonly value: ValueOf<C> } {
  return event.case === kind;
}
