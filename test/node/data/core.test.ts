import { create } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { type Profile, transactionHash } from "tradewire";
import { CoreService, SubmitTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { TransactionSchema, TxVersion } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { Market_State } from "tradewire/gen/vega/markets_pb.js";
import { AccountType, ChainStatus } from "tradewire/gen/vega/vega_pb.js";
import {
  account,
  asset,
  blockAt,
  historyOf,
  id,
  market,
  marketData,
  order,
  timelineOf,
  trade,
} from "../living-world.js";
import {
  type CoreOptions,
  coreMethods,
  createBlocks,
  createSpamPolicies,
  createStreams,
  createWorld,
  stateMethods,
} from "./inside.js";

const settled = { state: Market_State.SETTLED };
const { world } = createWorld(
  historyOf({
    orders: timelineOf([[10, order(1)]]),
    trades: timelineOf([9, 10, 10].map((height, at) => [height, trade(at)] as const)),
    start: {
      parameters: new Map([..."cab"].map((key) => [key, `value of ${key}`])),
      assets: [2, 1].map(asset),
      markets: [market(2), market(1), market(3, settled)],
      marketData: [marketData(2), marketData(1)],
      parties: [{ id: id(4), createdAt: 1n }],
      accounts: [
        account(2, { type: AccountType.MARGIN, marketId: id(1) }),
        account(1, { type: AccountType.GENERAL, owner: id(3) }),
      ],
    },
  }),
);

const rules = {
  hashFunction: "sha3_24_rounds",
  difficulty: 15,
  transactionsPerBlock: 2,
  increasing: true,
  pastBlocks: 100,
};
const refusal = { code: 60, data: "order_submission.size (size is too large)" };

/** The core service with a chain that refuses transactions of version 2, and takes all others. */
function serveCore(profile?: Profile) {
  const taken: string[] = [];
  let made = 0;
  const chain: CoreOptions["chain"] = {
    counts: () => ({
      ...{ waiting: taken.length, inLastBlock: 3 },
      ...{ transactions: 4, bytes: 1702, amendments: 5, cancellations: 6 },
    }),
    check: ({ tx }) => (tx?.version === TxVersion.V2 ? refusal : undefined),
    submit({ tx }) {
      if (tx?.version === TxVersion.V2) {
        return refusal;
      }
      taken.push(tx?.pow?.tid ?? "");
      return undefined;
    },
    async nextBlock() {
      made += 1;
      return { block: blockAt(11n), outcomes: new Map() };
    },
  };
  const blocks = createBlocks([blockAt(9n), blockAt(10n)], rules.pastBlocks);
  const streams = createStreams();
  const inLastBlock = () => ({ events: 24, orders: 7, trades: 2 });
  const policies = createSpamPolicies(10n, { world, stakeOf: () => 0n });
  const options = { chain, blocks, rules, policies, chainId: "chain-1", world, streams, profile, inLastBlock };
  const transport = createRouterTransport(({ service }) => service(CoreService, coreMethods(options)));
  return { core: createClient(CoreService, transport), taken, made: () => made };
}

const good = create(TransactionSchema, { version: TxVersion.V3, pow: { tid: "t" } });
const bad = create(TransactionSchema, { version: TxVersion.V2 });
const Type = SubmitTransactionRequest_Type;

describe("the result of a submission", () => {
  const txHash = transactionHash(bad);
  const refused = { success: false, txHash, ...refusal, log: "" };

  test("comes when its type says, by the specification", async () => {
    const { core, taken, made } = serveCore();
    expect(await core.submitTransaction({ tx: bad, type: Type.SYNC })).toMatchObject(refused);
    expect(await core.submitTransaction({ tx: bad, type: Type.COMMIT })).toMatchObject(refused);
    expect(await core.submitTransaction({ tx: bad, type: Type.ASYNC })).toMatchObject({
      success: true,
      txHash,
      code: 0,
    });
    expect([taken, made()]).toEqual([[], 0]);
    expect(await core.submitTransaction({ tx: good, type: Type.COMMIT })).toMatchObject({ success: true, code: 0 });
    expect([taken, made()]).toEqual([["t"], 1]);
  });

  test("comes at once from deployed nodes, whatever the type", async () => {
    const { core, taken, made } = serveCore("deployed");
    for (const type of [Type.UNSPECIFIED, Type.ASYNC, Type.SYNC, Type.COMMIT]) {
      expect(await core.submitTransaction({ tx: bad, type })).toMatchObject(refused);
    }
    expect(await core.submitTransaction({ tx: good, type: Type.COMMIT })).toMatchObject({ success: true });
    expect([taken, made()]).toEqual([["t"], 0]);
  });
});

test("the last block, its time and what it serves are told", async () => {
  const { core } = serveCore();
  expect(await core.lastBlockHeight({})).toMatchObject({
    height: 10n,
    hash: blockAt(10n).hash,
    chainId: "chain-1",
    spamPowDifficulty: 15,
    spamPowNumberOfTxPerBlock: 2,
  });
  expect(await core.getVegaTime({})).toMatchObject({ timestamp: blockAt(10n).time });
  const { statistics } = await core.getSpamStatistics({ partyId: id(1) });
  expect(statistics?.pow?.blockStates).toMatchObject([
    { blockHeight: 10n, transactionsSeen: 0n, expectedDifficulty: 15n },
  ]);
});

test("statistics count what the world holds", async () => {
  const { core } = serveCore();
  const { statistics } = await core.statistics({});
  expect(statistics).toMatchObject({
    status: ChainStatus.CONNECTED,
    chainId: "chain-1",
    blockHeight: 10n,
    blockHash: blockAt(10n).hash,
    blockDuration: 1_000_000_000n,
    backlogLength: 0n,
    txPerBlock: 3n,
    genesisTime: "2023-11-14T22:13:21Z",
    vegaTime: "2023-11-14T22:13:30Z",
    epochSeq: 0n,
    epochStartTime: "2023-11-14T22:13:21Z",
    epochExpiryTime: "2023-11-14T22:23:21Z",
    // As recorded (CoreService.statistics in test/network/recorded/methods.json), where a block took another time.
    ...{ totalMarkets: 0n, chainVersion: "0.38.8", averageTxBytes: 425n, totalAmendOrder: 5n, totalCancelOrder: 6n },
    ...{ eventCount: 24n, eventsPerSecond: 24n, ordersPerSecond: 7n, tradesPerSecond: 2n, averageOrdersPerBlock: 1n },
    totalOrders: 10n,
    totalTrades: 20n,
    orderSubscriptions: 0,
  });
});

describe("the state service", () => {
  const transport = createRouterTransport(({ service }) => service(CoreStateService, stateMethods({ world })));
  const state = createClient(CoreStateService, transport);

  test("gives accounts of a party or a market", async () => {
    const margin = { party: id(2), market: id(1), balance: "100", asset: id(5), type: "ACCOUNT_TYPE_MARGIN" };
    const general = { party: id(3), market: "", type: "ACCOUNT_TYPE_GENERAL" };
    expect((await state.listAccounts({})).accounts).toMatchObject([general, margin]);
    expect((await state.listAccounts({ party: id(2) })).accounts).toMatchObject([margin]);
    expect((await state.listAccounts({ market: id(1) })).accounts).toMatchObject([margin]);
    expect((await state.listAccounts({ party: "x" })).accounts).toEqual([]);
  });

  test("gives all else by identifier, without markets that are settled", async () => {
    const ids = (records: readonly { readonly id: string }[]) => records.map((record) => record.id);
    expect(ids((await state.listMarkets({})).markets)).toEqual([id(1), id(2)]);
    expect(ids((await state.listMarkets({ market: id(2) })).markets)).toEqual([id(2)]);
    expect(ids((await state.listMarkets({ market: id(3) })).markets)).toEqual([]);
    expect(ids((await state.listAssets({})).assets)).toEqual([id(1), id(2)]);
    expect(ids((await state.listAssets({ asset: id(2) })).assets)).toEqual([id(2)]);
    expect(ids((await state.listParties({})).parties)).toEqual(["network"]); // LatestEvent: of the parties, no other.
    expect((await state.listMarketsData({})).marketsData.map((data) => data.market)).toEqual([id(1), id(2)]);
    expect((await state.listMarketsData({ market: id(2) })).marketsData.map((data) => data.market)).toEqual([id(2)]);
    const keys = async (networkParameterKey: string) =>
      (await state.listNetworkParameters({ networkParameterKey })).networkParameters.map(({ key }) => key);
    expect([await keys(""), await keys("b"), await keys("x")]).toEqual([["a", "b", "c"], ["b"], []]);
    expect((await state.listNetworkLimits({})).networkLimits).toMatchObject({ canProposeMarket: true });
  });
});
