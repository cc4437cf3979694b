// Listings in pages of several sizes: each gives the same records.
import assert from "node:assert/strict";
import { toJson } from "@bufbuild/protobuf";
import { TradingDataService } from "tradewire/api";
import { limitOrder, percent } from "./market.mjs";

const PAGE_SIZES = [1, 2, 5, 5000];

/** How many records are compared at most: a page of one record is a call. */
const LIMIT = 60;

/** Listings of which v0.78.0 gives the first page alone, and what it says of the next. The client must not end them as if whole. */
const FIRST_PAGE_ALONE = { listLedgerEntries: /column reference "vega_time" is ambiguous/ };

/** Make the cases. */
export function listingCases({ network, market, report }) {
  const { method } = TradingDataService;
  const lines = [];
  const since = BigInt(Date.now() - 3_600_000) * 1_000_000n;

  /** Requests that give the same from call to call: of this run's market and parties. */
  const requests = {
    listOrders: ({ id, alice }) => ({ filter: { marketIds: [id], partyIds: [alice.publicKey] } }),
    listTrades: ({ id }) => ({ marketIds: [id] }),
    listStopOrders: ({ id }) => ({ filter: { marketIds: [id] } }),
    listAccounts: ({ alice }) => ({ filter: { partyIds: [alice.publicKey] } }),
    listPositions: ({ id }) => ({ marketId: id }),
    listAllPositions: ({ id }) => ({ filter: { marketIds: [id] } }),
    listDeposits: ({ alice }) => ({ partyId: alice.publicKey }),
    listTransfers: ({ alice }) => ({ pubkey: alice.publicKey, direction: 3 }),
    listVotes: ({ alice }) => ({ partyId: alice.publicKey }),
    listMarginLevels: ({ id, alice }) => ({ marketId: id, partyId: alice.publicKey }),
    listGovernanceData: ({ alice }) => ({ proposerPartyId: alice.publicKey }),
    listLedgerEntries: ({ alice }) => ({
      filter: { fromAccountFilter: { partyIds: [alice.publicKey] } },
      dateRange: { startTimestamp: since, endTimestamp: BigInt(Date.now()) * 1_000_000n },
    }),
    listNetworkParameters: () => ({}),
    listAssets: () => ({}),
    listNodes: () => ({}),
    listLiquidityProvisions: ({ id }) => ({ marketId: id }),
    listAMMs: ({ id }) => ({ marketId: id }),
  };

  const compare = async (name, transport, signal) => {
    const request = requests[name](await market());
    // The node leaves out records of small pages beside batches of proposals, so the client gives an error there.
    const pageSizes = name === "listGovernanceData" ? PAGE_SIZES.slice(-1) : PAGE_SIZES;
    const found = [];
    for (const pageSize of pageSizes) {
      const options = { pageSize, limit: LIMIT, signal };
      const records = [];
      try {
        for await (const { node } of network.clients[transport].records(method[name], request, options)) {
          records.push(JSON.stringify(toJson(nodeOf(method[name]), node)));
        }
        found.push(records);
      } catch (error) {
        assert.match(error.message, FIRST_PAGE_ALONE[name] ?? /^$/);
        assert.equal(records.length, pageSize, "the first page did not come");
      }
    }
    lines.push(`${name} over ${transport}: ${found.map(({ length }) => length).join(", ")} records`);
    for (const [at, records] of found.entries()) {
      assert.deepEqual(records, found.at(-1), `pages of ${pageSizes[at]}`);
    }
    assert.equal(new Set(found[0]).size, found[0].length, "a record comes twice");
  };

  return [
    {
      group: "listings",
      name: "orders to list",
      async check(signal) {
        const { id, alice } = await market();
        for (const price of [40, 41, 42, 43, 44, 45, 46]) {
          await network.clients.grpc.sendCommand(limitOrder(id, "BUY", percent(price)), { signer: alice, signal });
        }
        await network.blocks(4);
      },
    },
    ...Object.keys(requests).flatMap((name) =>
      (name === "listPositions" ? ["grpc"] : ["grpc", "rest"]).map((transport) => ({
        group: "listings",
        name: `${name} over ${transport}, in pages of ${PAGE_SIZES.join(", ")}`,
        check: (signal) => compare(name, transport, signal),
      })),
    ),
    {
      group: "listings",
      name: "what was listed",
      async check() {
        report.figure("listings in pages of 1, 2, 5, 5000", lines);
      },
    },
  ];
}

/** The message of a listing's records: `edges[].node` of its connection. */
function nodeOf({ output }) {
  const connection = output.fields.find(({ message }) => message?.name.endsWith("Connection")).message;
  return connection.fields
    .find(({ localName }) => localName === "edges")
    .message.fields.find(({ localName }) => localName === "node").message;
}
