import type { Account } from "../../../gen/vega/vega_pb.js";
import type { Event, Happening } from "./event.js";
import { keptMap, type Saved } from "./kept.js";

/** What one transaction brought. The events that a block brings itself have the block's hash in its place. */
export interface TransactionEvents {
  /** The events that change records. Of the versions of a record within a block only the last one is here. */
  readonly events: readonly Event[];
  /** The accounts that it opened. */
  readonly opened: readonly Account[];
}

/** The events of transactions, by hash. */
export interface Transactions {
  /**
   * Finds what a transaction brought.
   *
   * @param txHash 64 hex digits in lower case
   * @returns its events, or `undefined` if none are stored
   */
  find(txHash: string): TransactionEvents | undefined;
}

/** The events of transactions, to which blocks add. */
export interface LivingTransactions extends Transactions, Saved {
  /**
   * Stores an event. Those of a block can be found once its `endBlock` has come.
   *
   * @param happening the event
   * @param opensAccount whether it is the first one of an account
   */
  apply(happening: Happening, opensAccount: boolean): void;
  save(): Map<string, TransactionEvents> | undefined;
  restore(saved: Map<string, TransactionEvents> | undefined): void;
}

/** The maximum number of events that are stored for transactions, some 20 MB. Those of the oldest transactions are dropped first. */
const MAX_EVENTS = 20_000;

/**
 * Stores the events of transactions.
 *
 * @returns the transactions, none yet
 */
export function createTransactions(): LivingTransactions {
  const stored = keptMap<string, TransactionEvents>(() => []);
  let latest = new Map<string, Happening>();
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

    apply(happening, opensAccount) {
      const { event, txHash, sequence } = happening;
      if (event.case === "endBlock") {
        endBlock();
        return;
      }
      const key = recordKey(event, sequence);
      if (key !== undefined) {
        latest.delete(key); // Its place is that of the last version.
        latest.set(key, happening);
      }
      if (event.case === "account" && opensAccount) {
        opened.push({ txHash, account: event.value });
      }
    },

    save: () => stored.save(),
    restore: (saved) => stored.restore(saved),
  };
}

/** What tells the record of an event from others of its block; `undefined` if the event changes no record. */
function recordKey(event: Event, sequence: number): string | undefined {
  switch (event.case) {
    case "order":
    case "endedOrder":
    case "trade":
    case "ledgerMovements":
    case "oracleData":
      return `${event.case} ${sequence}`; // Each one is a record of its own.
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
