import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type {
  AccountFilter,
  AggregatedLedgerEntrySchema,
  DateRange,
  LedgerEntryFilter,
  TradingDataService,
} from "../../gen/datanode/api/v2/trading_data_pb.js";
import { AccountType, TransferType } from "../../gen/vega/vega_pb.js";
import { invalidArgument } from "./api-error.js";
import { canBeIdentifier, NO_IDENTIFIER, oneOf, type Query, queryError, within } from "./data/conditions.js";
import { firstPageOnly, keyPart, sorted, timePart } from "./data/listing.js";
import { readPageOf, readPagination, withNodes } from "./data/page.js";
import type { History, LedgerAccount, LedgerEntryRecord } from "./history/history.js";

/** Nanoseconds. */
const FIVE_DAYS = 5n * 86_400_000_000_000n;

const QUERY: Query = { message: "failed to query ledger entries" };

/**
 * Implement the listing of the ledger's entries.
 *
 * @param history the history; it tells the entries of its last blocks
 * @returns the method of the data service that lists entries of a party (datanode/sqlstore/ledgerentry_filter.go)
 */
export function ledgerListing(
  history: Pick<History, "ledger">,
): Pick<ServiceImpl<typeof TradingDataService>, "listLedgerEntries"> {
  return {
    async listLedgerEntries({ filter, dateRange, pagination }, { signal }) {
      const request = readPagination(pagination);
      const isWanted = entryFilter(filter);
      const isWithin = within(atMostFiveDays(dateRange));
      const found: LedgerEntryRecord[] = [];
      for await (const entry of history.ledger(signal)) {
        if (isWithin(entry.time) && isWanted(entry)) {
          found.push(entry);
        }
      }
      const keys = new Map(found.map((entry, at) => [entry, [timePart(entry.time), timePart(BigInt(at))]]));
      const entries = sorted(found, [keyPart.time, keyPart.time], (entry) => keys.get(entry) ?? []);
      // A defect of the network's: no second page of entries can be read.
      const cause = 'ERROR: column reference "vega_time" is ambiguous (SQLSTATE 42702)';
      const listing = firstPageOnly(entries, () => queryError(QUERY, `scany: query multiple result rows: ${cause}`));
      return {
        ledgerEntries: withNodes(
          readPageOf(
            listing(() => true),
            request,
            QUERY,
          ),
          messageOf,
        ),
      };
    },
  };
}

/** The span of time that is looked at: five days from its start, where it has one (datanode/sqlstore/ledger.go). */
function atMostFiveDays(range: DateRange | undefined): DateRange | undefined {
  const { startTimestamp: start, endTimestamp: end } = range ?? {};
  if (range === undefined || (start === undefined && end === undefined)) {
    return range;
  }
  if (start === undefined) {
    return { ...range, startTimestamp: (end ?? 0n) - FIVE_DAYS };
  }
  return end !== undefined && end - start <= FIVE_DAYS ? range : { ...range, endTimestamp: start + FIVE_DAYS };
}

/** The condition that a filter makes. It has to name one party, on the side that the entries come from or on the other. */
function entryFilter(filter: LedgerEntryFilter | undefined): (entry: LedgerEntryRecord) => boolean {
  const { fromAccountFilter: from, toAccountFilter: to, transferTypes = [], transferId = "" } = filter ?? {};
  const sides = [from?.partyIds ?? [], to?.partyIds ?? []];
  const hasNoParty = sides.every((parties) => parties.length === 0) && transferId === "";
  if (hasNoParty || sides.some((parties) => parties.length > 1)) {
    throw invalidArgument(
      "invalid filter",
      "invalid filters: filtering ledger entries should be limited to a single party",
    );
  }
  const isFrom = accountFilter(from, "fromAccount");
  const isTo = accountFilter(to, "toAccount");
  const isOfType = oneOf(transferTypes);
  const isOfSides = (entry: LedgerEntryRecord) => {
    const [fits, alsoFits] = [from && isFrom(entry.from, entry), to && isTo(entry.to, entry)];
    return filter?.closeOnAccountFilters === true
      ? fits !== false && alsoFits !== false
      : fits === true || alsoFits === true;
  };
  // No transfer that has an identifier is among the entries.
  return (entry) => transferId === "" && isOfSides(entry) && isOfType(transferTypeOf(entry.type));
}

function accountFilter(
  filter: AccountFilter | undefined,
  side: string,
): (account: LedgerAccount, entry: LedgerEntryRecord) => boolean {
  const { assetId = "", partyIds = [], marketIds = [], accountTypes = [] } = filter ?? {};
  const checked = (ids: readonly string[], what: string) => {
    const bad = ids.find((id) => !canBeIdentifier(id));
    if (bad !== undefined) {
      const cause = `invalid filters: invalid ${side} filters: invalid ${what} id: decoding '${bad}': ${NO_IDENTIFIER}`;
      throw queryError(QUERY, cause, Code.InvalidArgument);
    }
    return oneOf(ids.map((id) => id.toLowerCase()));
  };
  const isOfParty = checked(partyIds, "party");
  const isOnMarket = checked(marketIds, "market");
  const isOfAsset = checked(assetId === "" ? [] : [assetId], "asset");
  const isOfType = oneOf(accountTypes.map((type) => AccountType[type]));
  return ({ owner, marketId, type }, entry) =>
    isOfAsset(entry.assetId) && isOfParty(owner) && isOnMarket(marketId) && isOfType(type);
}

function messageOf(entry: LedgerEntryRecord): MessageInitShape<typeof AggregatedLedgerEntrySchema> {
  const { from, to } = entry;
  return {
    timestamp: entry.time,
    quantity: entry.quantity,
    transferType: transferTypeOf(entry.type),
    assetId: entry.assetId,
    fromAccountType: accountTypeOf(from.type),
    toAccountType: accountTypeOf(to.type),
    fromAccountPartyId: from.owner,
    toAccountPartyId: to.owner,
    ...(from.marketId !== "" && { fromAccountMarketId: from.marketId }),
    ...(to.marketId !== "" && { toAccountMarketId: to.marketId }),
    fromAccountBalance: from.balance,
    toAccountBalance: to.balance,
  };
}

function transferTypeOf(name: string): TransferType {
  return numbered(TransferType, name);
}

function accountTypeOf(name: string): AccountType {
  return numbered(AccountType, name);
}

/** The number of an enum's value, by its name without the prefix; 0 where there is none. */
function numbered(values: Readonly<Record<string, string | number>>, name: string): number {
  const value = values[name];
  return typeof value === "number" ? value : 0;
}
