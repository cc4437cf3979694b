import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { csvRecords } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { LedgerMovementsSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { AccountType, TransferType } from "tradewire/gen/vega/vega_pb.js";
import { collect } from "../support/listing-clients.js";
import { type BlockEvent, createHistory, generateHistory, type History, ledgerExport } from "./inside.js";

const idOf = (text: string) => createHash("sha256").update(text).digest("hex");
const partyId = idOf("party:3");

const made = (genesis = {}) =>
  createHistory({
    generated: generateHistory({ blocks: 5000 }),
    chainId: "devnode-1",
    segments: 5,
    blocksPerSegment: 1000,
    genesis,
  });

interface Request {
  readonly partyId: string;
  readonly assetId?: string;
  readonly dateRange?: { readonly startTimestamp?: bigint; readonly endTimestamp?: bigint };
}

async function exported(request: Request, history: History = made()) {
  const client = createClient(
    TradingDataService,
    createRouterTransport(({ service }) => service(TradingDataService, ledgerExport(history))),
  );
  let name: string | null = null;
  const onHeader = (headers: Headers) => {
    name = headers.get("content-disposition");
  };
  const chunks = await collect(client.exportLedgerEntries(request, { onHeader }));
  expect(new Set(chunks.map(({ contentType }) => contentType))).toEqual(new Set(["text/csv"]));
  const csv = Buffer.concat(chunks.map(({ data }) => data));
  return { name, header: csv.toString().split("\n", 1)[0], rows: await collect(csvRecords([csv])) };
}

describe("the ledger", () => {
  it("has the entries of a party, in the order of their time, with what each does to it", async () => {
    const { rows } = await exported({ partyId });
    expect(rows.length).toBeGreaterThan(100);
    const effects = new Set<number>();
    for (const row of rows) {
      const { account_from_party_id: from, account_to_party_id: to, quantity, effect } = row;
      expect([from, to]).toContain(partyId);
      const sign = from === to ? 0 : to === partyId ? 1 : -1;
      expect(Number(effect)).toBe(sign * Number(quantity) + 0);
      effects.add(sign);
    }
    expect(effects.size).toBeGreaterThan(1);
    const times = rows.map((row) => String(row["vega_time"]));
    expect(times).toEqual(times.toSorted());
  });

  it("takes an asset, and whole seconds of a span of time, its end excluded", async () => {
    const { rows: all } = await exported({ partyId });
    const assetId = String(all[0]?.["asset_id"]);
    const { rows: ofAsset } = await exported({ partyId: partyId.toUpperCase(), assetId });
    expect(ofAsset).toEqual(all.filter((entry) => entry["asset_id"] === assetId));
    expect(ofAsset.length).toBeGreaterThan(0);
    expect(ofAsset.length).toBeLessThan(all.length);
    const nanoseconds = (text: string) => BigInt(Date.parse(text)) * 1_000_000n;
    const dateRange = {
      startTimestamp: nanoseconds("2023-10-19T08:10:00.900Z"),
      endTimestamp: nanoseconds("2023-10-19T08:20:00.900Z"),
    };
    const { rows: within } = await exported({ partyId, dateRange });
    const between = (time: unknown) => String(time) >= "2023-10-19 08:10:00" && String(time) < "2023-10-19 08:20:00";
    expect(within).toEqual(all.filter((entry) => between(entry["vega_time"])));
    expect(within.length).toBeGreaterThan(0);
  });

  it("is named as by deployed nodes, with their columns", async () => {
    const dateRange = { startTimestamp: 1697702400000000001n, endTimestamp: 1697702500000000000n };
    const { name, header } = await exported({ partyId, dateRange });
    expect(name).toBe(`attachment;filename=ledger_entries_${partyId}__2023-10-19T08_00_00Z-2023-10-19T08_01_40Z.csv`);
    expect(header).toBe(
      "vega_time,quantity,effect,transfer_type,asset_id," +
        "account_from_market_id,account_from_party_id,account_from_account_type,account_from_balance," +
        "account_to_market_id,account_to_party_id,account_to_account_type,account_to_balance",
    );
  });

  it("goes on with the blocks that are made, before and after their segment is full", async () => {
    const history = made();
    const [assetId, market] = [idOf("asset:0"), idOf("market:0")];
    const entry = (amount: string, from: AccountType, to: AccountType) => ({
      fromAccount: { assetId, type: from, owner: partyId },
      toAccount: { assetId, type: to, ...(to === AccountType.MARGIN && { owner: partyId, marketId: market }) },
      amount,
      type: TransferType.MARGIN_LOW,
      fromAccountBalance: "10",
      toAccountBalance: "20",
    });
    const movements = [
      {
        entries: [
          entry("5", AccountType.GENERAL, AccountType.MARGIN),
          entry("6", AccountType.GENERAL, AccountType.INSURANCE),
        ],
      },
    ];
    const start = history.segments().length;
    const record = (height: bigint) => {
      const block = { height, hash: idOf("b"), time: 1_700_000_000_000_000_000n + height * 1_000_000_000n };
      const value = create(LedgerMovementsSchema, { ledgerMovements: movements });
      const event: BlockEvent["event"] = { case: "ledgerMovements", value };
      history.record(block, height === 5001n ? [{ block, sequence: 1, txHash: idOf("t"), event }] : []);
    };
    record(5001n);
    const dateRange = { startTimestamp: 1_700_000_000_000_000_000n };
    const { rows } = await exported({ partyId, dateRange }, history);
    const row = {
      vega_time: "2023-11-14 23:36:41+00",
      quantity: "5",
      effect: "0",
      transfer_type: "TRANSFER_TYPE_MARGIN_LOW",
      asset_id: assetId,
      account_from_market_id: "",
      account_from_party_id: partyId,
      account_from_account_type: "GENERAL",
      account_from_balance: "10",
      account_to_market_id: market,
      account_to_party_id: partyId,
      account_to_account_type: "MARGIN",
      account_to_balance: "20",
    };
    const other = {
      ...row,
      quantity: "6",
      effect: "-6",
      account_to_market_id: "",
      account_to_party_id: "network",
      account_to_account_type: "INSURANCE",
    };
    expect(rows).toEqual([row, other]);
    for (let height = 5002n; height <= 6000n; height += 1n) {
      record(height);
    }
    expect(history.segments()).toHaveLength(start + 1);
    expect((await exported({ partyId, dateRange }, history)).rows).toEqual([row, other]);
    expect((await exported({ partyId }, history)).rows.length).toBeGreaterThan(102);
  });

  it("ends before the second that a span of time names", async () => {
    const history = made();
    const block = { height: 5001n, hash: idOf("b"), time: 1_700_000_009_999_999_000n };
    const entry = { fromAccount: { assetId: idOf("asset:0"), owner: partyId }, amount: "1" };
    const value = create(LedgerMovementsSchema, { ledgerMovements: [{ entries: [entry, entry] }] });
    const event: BlockEvent["event"] = { case: "ledgerMovements", value };
    history.record(block, [{ block, sequence: 1, txHash: idOf("t"), event }]);
    // The entries are a microsecond apart: the first one stands at the full second.
    const [from, to] = [1_700_000_010_000_000_000n, 1_700_000_011_000_000_000n];
    const count = async (dateRange: NonNullable<Request["dateRange"]>) =>
      (await exported({ partyId, dateRange }, history)).rows.length;
    expect(await count({ startTimestamp: from, endTimestamp: to })).toBe(2);
    expect(await count({ startTimestamp: 1_700_000_000_000_000_000n, endTimestamp: from })).toBe(0);
  });

  it("has no made-up entries where the ledger's rows are one's own", async () => {
    expect((await exported({ partyId }, made({ ledger: [] }))).rows).toEqual([]);
  });

  it("refuses what is no identifier", async () => {
    const reason = await exported({ partyId: "'; --" }).catch((failed: unknown) => failed);
    expect(ConnectError.from(reason).code).toBe(Code.InvalidArgument);
  });
});
