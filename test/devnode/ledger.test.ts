import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { type Client, createClient } from "../../src/client.js";
import { type Devnode, startDevnode } from "../../src/devnode/index.js";
import { collect, failureOf } from "../support/listing-clients.js";

const idOf = (text: string) => createHash("sha256").update(text).digest("hex");
const partyId = idOf("party:3");

let node: Devnode;
let client: Client;
beforeAll(async () => {
  node = await startDevnode({ blockMs: 0 });
  client = createClient({ grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } });
});
afterAll(async () => {
  await client.close();
  await node.close();
});

describe("the local node's ledger", () => {
  it("has the entries of a party, in the order of their time, with what each does to it", async () => {
    const entries = await collect(client.exportLedgerEntries({ partyId }).rows());
    expect(entries.length).toBeGreaterThan(100);
    const effects = new Set<number>();
    for (const entry of entries) {
      const { account_from_party_id: from, account_to_party_id: to, quantity, effect } = entry;
      expect([from, to]).toContain(partyId);
      const sign = from === to ? 0 : to === partyId ? 1 : -1;
      expect(Number(effect)).toBe(sign * Number(quantity) + 0);
      effects.add(sign);
    }
    expect(effects.size).toBeGreaterThan(1);
    const times = entries.map((entry) => String(entry["vega_time"]));
    expect(times).toEqual(times.toSorted());
  });

  it("takes an asset, and whole seconds of a span of time, its end excluded", async () => {
    const all = await collect(client.exportLedgerEntries({ partyId }).rows());
    const assetId = String(all[0]?.["asset_id"]);
    const ofAsset = await collect(client.exportLedgerEntries({ partyId, assetId }).rows());
    expect(ofAsset).toEqual(all.filter((entry) => entry["asset_id"] === assetId));
    expect(ofAsset.length).toBeGreaterThan(0);
    expect(ofAsset.length).toBeLessThan(all.length);
    const dateRange = {
      startTimestamp: new Date("2023-10-19T08:10:00.900Z"),
      endTimestamp: new Date("2023-10-19T08:20:00.900Z"),
    };
    const within = await collect(client.exportLedgerEntries({ partyId, dateRange }).rows());
    const between = (time: unknown) => String(time) >= "2023-10-19 08:10:00" && String(time) < "2023-10-19 08:20:00";
    expect(within).toEqual(all.filter((entry) => between(entry["vega_time"])));
    expect(within.length).toBeGreaterThan(0);
  });

  it("is the same over the gateway, under the name of deployed nodes", async () => {
    const query = `partyId=${partyId}&dateRange.startTimestamp=1697702400000000001&dateRange.endTimestamp=1697702500000000000`;
    const response = await fetch(`${node.restUrl}/api/v2/ledgerentry/export?${query}`);
    expect(response.headers.get("content-type")).toBe("text/csv");
    expect(response.headers.get("content-disposition")).toBe(
      `attachment;filename=ledger_entries_${partyId}__2023-10-19T08_00_00Z-2023-10-19T08_01_40Z.csv`,
    );
    expect((await response.text()).split("\n", 1)[0]).toBe(
      "vega_time,quantity,effect,transfer_type,asset_id," +
        "account_from_market_id,account_from_party_id,account_from_account_type,account_from_balance," +
        "account_to_market_id,account_to_party_id,account_to_account_type,account_to_balance",
    );
  });

  it("refuses what is no identifier", async () => {
    const reason = await failureOf(() =>
      collect(client.service(TradingDataService).exportLedgerEntries({ partyId: "'; --" })),
    );
    expect(reason).toMatchObject({ name: "NodeError", code: Code.InvalidArgument });
  });
});
