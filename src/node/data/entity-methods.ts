import { create } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
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
import { Code } from "../../base/errors/code.js";
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

/** The lists of the response to which events add what they hold. */
const LISTS = {
  order: "orders",
  endedOrder: "orders",
  position: "positions",
  transfer: "transfers",
  vote: "votes",
  trade: "trades",
  oracleSpec: "oracleSpecs",
  marketCreated: "markets",
  marketUpdated: "markets",
  party: "parties",
  marginLevels: "marginLevels",
  deposit: "deposits",
  withdrawal: "withdrawals",
  asset: "assets",
  proposal: "proposals",
  networkParameter: "networkParameters",
} as const satisfies { readonly [kind in Event["case"]]?: keyof ListEntitiesResponse };

function addEntity(found: ListEntitiesResponse, event: Event): void {
  if (event.case === "ledgerMovements") {
    found.ledgerEntries.push(...event.value.ledgerMovements.flatMap(({ entries }) => entries).map(entryOf));
  } else if (event.case === "account") {
    found.balanceChanges.push(balanceOf(event.value));
  } else if (isListed(event)) {
    const list: object[] = found[LISTS[event.case]];
    list.push(event.value);
  }
}

const isListed = (event: Event): event is Event & { readonly case: keyof typeof LISTS } =>
  Object.hasOwn(LISTS, event.case);

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
