import type { ServiceImpl } from "@connectrpc/connect";
import type { ExportLedgerEntriesRequest, TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { csvLine } from "../csv/encode.js";
import { ledgerFileName } from "../ledger/names.js";
import type { CheckedLedgerRequest } from "../ledger/request.js";
import { inParts } from "./archive.js";
import { identifier } from "./data/conditions.js";
import type { History, LedgerEntryRecord } from "./history/history.js";

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

/** How many entries are looked at between two pieces of the file. */
const PIECE_ENTRIES = 1024;

/**
 * Implement the export of a party's ledger.
 *
 * @param history the history; it tells the entries of its last blocks
 * @returns the method of the data service that exports the ledger
 */
export function ledgerService(history: Pick<History, "ledger">): LedgerService {
  return {
    async *exportLedgerEntries(message, { responseHeader, signal }) {
      const request = checked(message);
      responseHeader.set("content-disposition", `attachment;filename=${ledgerFileName(request)}`);
      for await (const data of inParts(csvOf(history.ledger(signal), request))) {
        yield { contentType: "text/csv", data };
      }
    },
  };
}

function checked({ partyId, assetId, dateRange }: ExportLedgerEntriesRequest): CheckedLedgerRequest {
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
  const wanted = filterOf(request);
  const partyId = request.partyId.toLowerCase();
  let text = csvLine(COLUMNS, "", 1);
  let looked = 0;
  for await (const entry of entries) {
    looked += 1;
    text += wanted(entry) ? csvLine(rowOf(entry, partyId), "", looked) : "";
    if (looked % PIECE_ENTRIES === 0) {
      yield Buffer.from(text);
      text = "";
    }
  }
  yield Buffer.from(text);
}

/** As on deployed nodes, only whole seconds of a time count. */
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

/** A row of the file; `effect` is what the entry does to the party. */
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
