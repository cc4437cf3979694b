import type { Account } from "../../../gen/vega/vega_pb.js";
import type { BlockEvent, Event } from "./block-event.js";
import { copyOnWriteMap, type Snapshotable } from "./copy-on-write.js";

/** The events of a transaction. Events of a block itself are stored under the block's hash. */
export interface TransactionEvents {
  /** Events that change records. Only the last version of a record in a block is included. */
  readonly events: readonly Event[];
  /** Accounts that the transaction opened. */
  readonly opened: readonly Account[];
}

/** The events of transactions, by hash. */
export interface TransactionEventIndex {
  /**
   * Returns the events of a transaction.
   *
   * @param txHash 64 hex digits in lower case
   * @returns its events, or `undefined` if none are stored
   */
  find(txHash: string): TransactionEvents | undefined;
}

/** An index of transaction events that new blocks extend. */
export interface TransactionEventStore extends TransactionEventIndex, Snapshotable {
  /**
   * Stores an event. The events of a block can be found after its `endBlock`.
   *
   * @param blockEvent the event
   * @param opensAccount whether it is the first event of an account
   */
  apply(blockEvent: BlockEvent, opensAccount: boolean): void;
  save(): Map<string, TransactionEvents> | undefined;
  restore(saved: Map<string, TransactionEvents> | undefined): void;
}

/** Maximum number of stored events, about 20 MB. The oldest transactions are dropped first. */
const MAX_EVENTS = 20_000;

/**
 * Creates a store of transaction events.
 *
 * @returns the empty store
 */
export function createTransactionEventStore(): TransactionEventStore {
  const stored = copyOnWriteMap<string, TransactionEvents>(() => []);
  let latest = new Map<string, BlockEvent>();
  let opened: { readonly txHash: string; readonly account: Account }[] = [];

  function endBlock(): void {
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
      all.set(hash, found);
    }
    let count = [...all.values()].reduce((sum, { events }) => sum + events.length, 0);
    for (const [hash, { events }] of all) {
      if (count <= MAX_EVENTS) {
        break;
      }
      all.delete(hash);
      count -= events.length;
    }
    latest = new Map();
    opened = [];
  }

  return {
    find: (txHash) => stored.value.get(txHash),

    apply(blockEvent, opensAccount) {
      const { event, txHash, sequence } = blockEvent;
      if (event.case === "endBlock") {
        endBlock();
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
    case "trade":
    case "ledgerMovements":
    case "oracleData":
      return `${event.case} ${sequence}`; // Each of these is a record of its own.
    case "account":
    case "transfer":
    case "asset":
    case "proposal":
    case "deposit":
    case "withdrawal":
    case "liquidityProvision":
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
    case "delegationBalance":
      return `${event.case} ${event.value.party} ${event.value.nodeId} ${event.value.epochSeq}`;
    case "networkParameter":
      return `${event.case} ${event.value.key}`;
    default:
      return undefined;
  }
}
