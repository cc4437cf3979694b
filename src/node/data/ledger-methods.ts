import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type {
  AccountFilter,
  AggregatedLedgerEntrySchema,
  DateRange,
  ExportLedgerEntriesRequest,
  LedgerEntryFilter,
  TradingDataService,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { AccountType, TransferType } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { csvLine } from "../../data/csv/encode-csv.js";
import { type CheckedLedgerRequest, ledgerFileName } from "../../data/ledger/ledger-request.js";
import { invalidArgument } from "../api-error.js";
import type { History, LedgerAccount, LedgerEntryRecord } from "../history/history.js";
import { canBeIdentifier, identifier, NO_IDENTIFIER, oneOf, type Query, queryError, within } from "./filters.js";
import { inEqualChunks } from "./history-methods.js";
import { firstPageOnly, keyPart, readPageOf, readPagination, sorted, timePart, withNodes } from "./pagination.js";

type LedgerService = Pick<ServiceImpl<typeof TradingDataService>, "exportLedgerEntries">;

const COLUMNS = [
  "vega_time",
  "quantity",
  "effect",
  "transfer_type",
  "asset_id",
  "account_from_market_id",
  "account_from_party_id",
  "account_from_account_type",
  "account_from_balance",
  "account_to_market_id",
  "account_to_party_id",
  "account_to_account_type",
  "account_to_balance",
];

/** The number of entries that are filtered for each chunk of the file. */
const CHUNK_ENTRIES = 1024;

export function ledgerExport(history: Pick<History, "ledger">): LedgerService {
  return {
    async *exportLedgerEntries(message, { responseHeader, signal }) {
      const request = parseRequest(message);
      responseHeader.set("content-disposition", `attachment;filename=${ledgerFileName(request)}`);
      for await (const data of inEqualChunks(csvOf(history.ledger(signal), request))) {
        yield { contentType: "text/csv", data };
      }
    },
  };
}

function parseRequest({ partyId, assetId, dateRange }: ExportLedgerEntriesRequest): CheckedLedgerRequest {
  identifier(partyId, "missing party id", "invalid party id");
  if (assetId !== undefined) {
    identifier(assetId, "invalid asset ID", "invalid asset ID");
  }
  const { startTimestamp, endTimestamp } = dateRange ?? {};
  return {
    partyId,
    ...(assetId !== undefined && { assetId }),
    dateRange: {
      ...(startTimestamp !== undefined && { startTimestamp }),
      ...(endTimestamp !== undefined && { endTimestamp }),
    },
  };
}

async function* csvOf(
  entries: AsyncIterable<LedgerEntryRecord>,
  request: CheckedLedgerRequest,
): AsyncGenerator<Uint8Array> {
  const isWanted = filterOf(request);
  const partyId = request.partyId.toLowerCase();
  let text = csvLine(COLUMNS, "", 1);
  let count = 0;
  for await (const entry of entries) {
    count += 1;
    text += isWanted(entry) ? csvLine(rowOf(entry, partyId), "", count) : "";
    if (count % CHUNK_ENTRIES === 0) {
      yield Buffer.from(text);
      text = "";
    }
  }
  yield Buffer.from(text);
}

/** Returns the predicate of a request. As on deployed nodes, times are truncated to seconds. */
function filterOf({ partyId, assetId, dateRange = {} }: CheckedLedgerRequest): (entry: LedgerEntryRecord) => boolean {
  const party = partyId.toLowerCase();
  const asset = assetId?.toLowerCase();
  const second = 1_000_000_000n;
  const [start, end] = [dateRange.startTimestamp, dateRange.endTimestamp].map(
    (time) => time && (time / second) * second,
  );
  return ({ time, assetId: ofAsset, from, to }) =>
    (from.owner === party || to.owner === party) &&
    (asset === undefined || ofAsset === asset) &&
    (start === undefined || time >= start) &&
    (end === undefined || time < end);
}

/** Returns the row of an entry. Its `effect` is the change of the party's balance. */
function rowOf({ vegaTime, quantity, type, assetId, from, to }: LedgerEntryRecord, partyId: string): string[] {
  const effect = from.owner === to.owner || quantity === "0" ? "0" : to.owner === partyId ? quantity : `-${quantity}`;
  const account = ({ marketId, owner, type: kind, balance }: LedgerEntryRecord["from"]) => [
    marketId,
    owner,
    kind,
    balance,
  ];
  return [vegaTime, quantity, effect, type, assetId, ...account(from), ...account(to)];
}

/** The maximum length of a date range, in nanoseconds. */
const FIVE_DAYS = 5n * 86_400_000_000_000n;

const QUERY: Query = { message: "failed to query ledger entries" };

/** Implements the listing of a party's ledger entries (datanode/sqlstore/ledgerentry_filter.go). */
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
      // The network has a defect: the second page of entries cannot be read.
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

/** Limits a date range to five days from its start, or before its end if it has no start (datanode/sqlstore/ledger.go). */
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

/** Returns the predicate of a filter, which must name exactly one party, as sender or as receiver. */
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
    const [matchesFrom, matchesTo] = [from && isFrom(entry.from, entry), to && isTo(entry.to, entry)];
    return filter?.closeOnAccountFilters === true
      ? matchesFrom !== false && matchesTo !== false
      : matchesFrom === true || matchesTo === true;
  };
  // No entry belongs to a transfer with an identifier.
  return (entry) => transferId === "" && isOfSides(entry) && isOfType(transferTypeOf(entry.type));
}

function accountFilter(
  filter: AccountFilter | undefined,
  side: string,
): (account: LedgerAccount, entry: LedgerEntryRecord) => boolean {
  const { assetId = "", partyIds = [], marketIds = [], accountTypes = [] } = filter ?? {};
  const matching = (ids: readonly string[], what: string) => {
    const invalid = ids.find((id) => !canBeIdentifier(id));
    if (invalid !== undefined) {
      const cause = `invalid filters: invalid ${side} filters: invalid ${what} id: decoding '${invalid}': ${NO_IDENTIFIER}`;
      throw queryError(QUERY, cause, Code.InvalidArgument);
    }
    return oneOf(ids.map((id) => id.toLowerCase()));
  };
  const isOfParty = matching(partyIds, "party");
  const isOnMarket = matching(marketIds, "market");
  const isOfAsset = matching(assetId === "" ? [] : [assetId], "asset");
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
  return enumValue(TransferType, name);
}

function accountTypeOf(name: string): AccountType {
  return enumValue(AccountType, name);
}

/** Returns the value of an enum by its name without the prefix; 0 if it does not exist. */
function enumValue(values: Readonly<Record<string, string | number>>, name: string): number {
  const value = values[name];
  return typeof value === "number" ? value : 0;
}
