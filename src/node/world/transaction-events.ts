import type { Account } from "../../../gen/vega/vega_pb.js";
import type { BlockEvent, Event } from "./block-event.js";
import { copyOnWrite, type Snapshotable } from "./copy-on-write.js";

/** The events of a transaction. Events of a block itself are stored under the block's hash. */
interface TransactionEvents {
  /** Events that change records. Only the last version of a record in a block is included. */
  readonly events: readonly Event[];
  readonly opened: readonly Account[];
}

/** The events of transactions, by hash. */
export interface TransactionEventIndex {
  find(txHash: string): TransactionEvents | "dropped" | undefined;
}

/** An index of transaction events that new blocks extend. */
export interface TransactionEventStore extends TransactionEventIndex, Snapshotable {
  /** Stores an event. The events of a block can be found after its `endBlock`. */
  apply(blockEvent: BlockEvent, opensAccount: boolean): void;
  save(): StoredEvents | undefined;
  restore(saved: StoredEvents | undefined): void;
}

/** The stored events, by hash. */
interface StoredEvents {
  readonly transactions: Map<string, TransactionEvents>;
  readonly blocks: Map<string, TransactionEvents>;
  count: number;
  hasDropped: boolean;
}

/** Maximum number of stored events of transactions, about 100 MB. The oldest transactions are dropped first. */
const MAX_EVENTS = 100_000;
/** How many blocks' own events are stored: those of the latest blocks. */
const MAX_BLOCKS = 100;

export function createTransactionEventStore(): TransactionEventStore {
  const stored = copyOnWrite<StoredEvents>(
    () => ({ transactions: new Map(), blocks: new Map(), count: 0, hasDropped: false }),
    (value) => ({ ...value, transactions: new Map(value.transactions), blocks: new Map(value.blocks) }),
  );
  let latest = new Map<string, BlockEvent>();
  let opened: { readonly txHash: string; readonly account: Account }[] = [];

  function endBlock(blockHash: string): void {
    const all = stored.change();
    const brought = new Map<string, { events: Event[]; opened: Account[] }>();
    const of = (hash: string) => {
      const found = brought.get(hash) ?? { events: [], opened: [] };
      brought.set(hash, found);
      return found;
    };
    for (const { txHash, event } of latest.values()) {
      of(txHash).events.push(event);
    }
    for (const { txHash, account } of opened) {
      of(txHash).opened.push(account);
    }
    for (const [hash, found] of brought) {
      if (hash === blockHash) {
        all.blocks.set(hash, found);
      } else {
        all.transactions.set(hash, found);
        all.count += found.events.length;
      }
    }
    for (const hash of [...all.blocks.keys()].slice(0, -MAX_BLOCKS)) {
      all.blocks.delete(hash);
    }
    for (const [hash, { events }] of all.transactions) {
      if (all.count <= MAX_EVENTS) {
        break;
      }
      all.transactions.delete(hash);
      all.count -= events.length;
      all.hasDropped = true;
    }
    latest = new Map();
    opened = [];
  }

  return {
    find(txHash) {
      const { transactions, blocks, hasDropped } = stored.value;
      return transactions.get(txHash) ?? blocks.get(txHash) ?? (hasDropped ? "dropped" : undefined);
    },

    apply(blockEvent, opensAccount) {
      const { event, txHash, sequence } = blockEvent;
      if (event.case === "endBlock") {
        endBlock(txHash);
        return;
      }
      const key = recordKey(event, sequence);
      if (key !== undefined) {
        latest.delete(key); // A record has the position of its last version.
        latest.set(key, blockEvent);
      }
      if (event.case === "account" && opensAccount) {
        opened.push({ txHash, account: event.value });
      }
    },

    save: () => stored.save(),
    restore: (saved) => stored.restore(saved),
  };
}

/** Returns the key of an event's record in its block; `undefined` if the event changes no record. */
function recordKey(event: Event, sequence: number): string | undefined {
  switch (event.case) {
    case "order":
    case "endedOrder":
      // The row of an order's version in a block has the hash of the last transaction that changed it (v0.78.0, `OrderKey` in
      // datanode/entities/order.go).
      return `order ${event.value.id} ${event.value.version}`;
    case "trade":
    case "ledgerMovements":
      return `${event.case} ${sequence}`; // Each of these is a record of its own.
    case "account":
    case "transfer":
    case "asset":
    case "proposal":
    case "deposit":
    case "withdrawal":
    case "party":
      return `${event.case} ${event.value.id}`;
    case "marketCreated":
    case "marketUpdated":
      return `market ${event.value.id}`;
    case "position":
    case "marginLevels":
      return `${event.case} ${event.value.partyId} ${event.value.marketId}`;
    case "vote":
      return `${event.case} ${event.value.proposalId} ${event.value.partyId}`;
    case "oracleSpec":
      return `${event.case} ${event.value.externalDataSourceSpec?.spec?.id}`;
    case "networkParameter":
      return `${event.case} ${event.value.key}`;
    default:
      return undefined;
  }
}
