import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AccountBalance,
  AccountBalanceSchema,
  type ListEntitiesResponse,
  ListEntitiesResponseSchema,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  type Account,
  type AccountDetails,
  AccountDetailsSchema,
  type LedgerEntry,
} from "../../../gen/vega/vega_pb.js";
import { invalidArgument } from "../api-error.js";
import type { Event } from "../world/block-event.js";
import type { World } from "../world/world.js";
import { isIdentifier, NETWORK_PARTY } from "./filters.js";
import type { DataMethods } from "./method.js";

/**
 * Implements the method that lists what a transaction created or changed (`ListEntities` in
 * datanode/api/trading_data_v2.go). Transactions of the generated history are not stored, so nothing is found for them.
 */
export function entityMethods({ transactions }: Pick<World, "transactions">): DataMethods {
  return {
    async listEntities({ transactionHash }) {
      if (transactionHash === "") {
        throw invalidArgument("missing or empty transaction hash");
      }
      if (!isIdentifier(transactionHash)) {
        throw invalidArgument("not a valid transaction hash");
      }
      const stored = transactions.find(transactionHash.toLowerCase()) ?? { events: [], opened: [] };
      if (stored === "dropped") {
        throw new ConnectError("this local node stores the records of its latest transactions only", Code.OutOfRange);
      }
      const { events, opened } = stored;
      // As on deployed nodes, the accounts that a transaction opened are listed without balances.
      const accounts = opened.map((account) => ({ ...account, balance: "" }));
      const found = create(ListEntitiesResponseSchema, { accounts });
      for (const event of events) {
        addEntity(found, event);
      }
      return found;
    },
  };
}

function addEntity(found: ListEntitiesResponse, event: Event): void {
  switch (event.case) {
    case "order":
    case "endedOrder":
      found.orders.push(event.value);
      break;
    case "position":
      found.positions.push(event.value);
      break;
    case "ledgerMovements":
      found.ledgerEntries.push(...event.value.ledgerMovements.flatMap(({ entries }) => entries).map(entryOf));
      break;
    case "account":
      found.balanceChanges.push(balanceOf(event.value));
      break;
    case "transfer":
      found.transfers.push(event.value);
      break;
    case "vote":
      found.votes.push(event.value);
      break;
    case "trade":
      found.trades.push(event.value);
      break;
    case "oracleSpec":
      found.oracleSpecs.push(event.value);
      break;
    default:
      addOther(found, event);
  }
}

function addOther(found: ListEntitiesResponse, event: Event): void {
  switch (event.case) {
    case "marketCreated":
    case "marketUpdated":
      found.markets.push(event.value);
      break;
    case "party":
      found.parties.push(event.value);
      break;
    case "marginLevels":
      found.marginLevels.push(event.value);
      break;
    case "deposit":
      found.deposits.push(event.value);
      break;
    case "withdrawal":
      found.withdrawals.push(event.value);
      break;
    case "asset":
      found.assets.push(event.value);
      break;
    case "proposal":
      found.proposals.push(event.value);
      break;
    case "networkParameter":
      found.networkParameters.push(event.value);
      break;
  }
}

/** Returns an entry as the data node lists it: always with the owner and market of its accounts, without time and transfer. */
function entryOf(entry: LedgerEntry): LedgerEntry {
  const { fromAccount, toAccount, transferId: _, ...listed } = entry;
  return { ...listed, fromAccount: named(fromAccount), toAccount: named(toAccount), timestamp: 0n };
}

function named(account: AccountDetails | undefined): AccountDetails {
  const { owner = NETWORK_PARTY, marketId = "", ...others } = account ?? create(AccountDetailsSchema);
  return { ...others, owner, marketId };
}

function balanceOf({ owner, balance, asset, marketId, type }: Account): AccountBalance {
  return create(AccountBalanceSchema, { owner, balance, asset, marketId, type });
}
