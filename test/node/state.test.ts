import { Code, type Client as ServiceClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Client, createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { StakeLinking_Status } from "tradewire/gen/vega/events/v1/events_pb.js";
import { AccountType, ChainStatus } from "tradewire/gen/vega/vega_pb.js";
import { allPages, exportedRows } from "../support/all-pages.js";
import { openMarket } from "../support/devnode.js";

/** 700 blocks, so that an epoch has ended. */
const BLOCKS = 700;
const NOBODY = "ab".repeat(32);

const { FEES_MAKER, FEES_LIQUIDITY, SETTLEMENT, INSURANCE, LIQUIDITY_FEES_BONUS_DISTRIBUTION } = AccountType;
const { FEES_INFRASTRUCTURE, EXTERNAL, GLOBAL_REWARD, NETWORK_TREASURY, GLOBAL_INSURANCE } = AccountType;
const { PENDING_TRANSFERS, PENDING_FEE_REFERRAL_REWARD } = AccountType;
/** What the network has from the start: `CreateMarketAccounts` and `EnableAsset` (v0.78.0, core/collateral/engine.go). */
const OF_MARKETS = [FEES_MAKER, FEES_LIQUIDITY, SETTLEMENT, INSURANCE, LIQUIDITY_FEES_BONUS_DISTRIBUTION];
const OF_ASSETS = [FEES_INFRASTRUCTURE, EXTERNAL, GLOBAL_REWARD, NETWORK_TREASURY, GLOBAL_INSURANCE];
OF_ASSETS.push(PENDING_TRANSFERS, PENDING_FEE_REFERRAL_REWARD);

let node: Devnode;
let clients: Record<"grpc" | "rest", Client>;
beforeAll(async () => {
  node = await startDevnode({ chainId: "devnode-1", segments: 2, blocksPerSegment: BLOCKS / 2, blockMs: 0 });
  clients = {
    grpc: createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }),
    rest: createClient({ transport: "rest", rest: { url: node.restUrl } }),
  };
  rowsOf = {
    positions: await exportedRows(clients.grpc, "positions", BLOCKS),
  };
});
afterAll(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await node.close();
});

/** The rows of exported tables. */
let rowsOf: Record<"positions", Record<string, string | null>[]>;

const hex = (bytes: string | null | undefined) => bytes?.replace(/^\\x/, "");

describe.each(["grpc", "rest"] as const)("over %s", (transport) => {
  let data: ServiceClient<typeof TradingDataService>;
  let core: ServiceClient<typeof CoreService>;
  let state: ServiceClient<typeof CoreStateService>;
  beforeAll(() => {
    data = clients[transport].service(TradingDataService);
    core = clients[transport].service(CoreService);
    state = clients[transport].service(CoreStateService);
  });

  test("accounts belong to parties and assets that are listed, and are filtered", async () => {
    const parties = (await data.listParties({})).parties?.edges.map((edge) => edge.node?.id);
    const assets = (await data.listAssets({})).assets?.edges.map((edge) => edge.node?.id);
    const accounts = await allPages(async (pagination) => (await data.listAccounts({ pagination })).accounts);
    for (const { owner, asset, type, marketId } of accounts) {
      expect(assets).toContain(asset);
      expect([...(parties ?? []), "network"]).toContain(owner);
      expect(marketId !== "").toBe(type === AccountType.MARGIN || OF_MARKETS.includes(type));
    }
    const ofNetwork = accounts.filter(({ owner }) => owner === "network").map(({ type }) => type);
    const markets = (await data.listMarkets({ includeSettled: true })).markets?.edges ?? [];
    const expected = [...markets.flatMap(() => OF_MARKETS), ...(assets ?? []).flatMap(() => OF_ASSETS)];
    expect(ofNetwork.toSorted()).toEqual(expected.toSorted());
    const [margin] = accounts.filter(({ type }) => type === AccountType.MARGIN);
    const filter = {
      partyIds: [margin?.owner ?? ""],
      accountTypes: [AccountType.MARGIN],
      marketIds: [margin?.marketId ?? ""],
      assetId: margin?.asset ?? "",
    };
    expect((await data.listAccounts({ filter })).accounts?.edges.map((edge) => edge.node)).toEqual([margin]);
    const { accounts: held } = await state.listAccounts({ party: margin?.owner ?? "" });
    expect(held).toHaveLength(accounts.filter(({ owner }) => owner === margin?.owner).length);
    expect(held).toContainEqual(expect.objectContaining({ balance: margin?.balance, type: "ACCOUNT_TYPE_MARGIN" }));
  });

  test("positions are the last ones that were exported", async () => {
    const row = rowsOf.positions.at(-1);
    const filter = { partyIds: [hex(row?.["party_id"]) ?? ""], marketIds: [hex(row?.["market_id"]) ?? ""] };
    const { positions } = await data.listAllPositions({ filter });
    expect(positions?.edges.map((edge) => edge.node)).toEqual([
      expect.objectContaining({
        openVolume: BigInt(row?.["open_volume"] ?? 0),
        realisedPnl: row?.["realised_pnl"]?.replace(/\..*/, ""),
      }),
    ]);
  });

  test("market data tell their history", async () => {
    // The markets take turns, a block each, and this one begins.
    const marketId = openMarket;
    const { marketData: latest } = await data.getLatestMarketData({ marketId });
    const found = await allPages(
      async (pagination) =>
        (await data.getMarketDataHistoryByID({ marketId, startTimestamp: 0n, pagination })).marketData,
      20,
    );
    expect(found[0]).toEqual(latest);
    expect(found).toHaveLength(Math.ceil(BLOCKS / 12));
    const { marketData: early } = await data.getMarketDataHistoryByID({
      marketId,
      endTimestamp: found.at(-2)?.timestamp ?? 0n,
    });
    expect(early?.edges.map((edge) => edge.node)).toEqual(found.slice(-2));
    expect((await data.listLatestMarketData({})).marketsData).toContainEqual(latest);
    expect((await state.listMarketsData({ market: marketId })).marketsData).toEqual([latest]);
  });

  test("the node, its time, its epochs and its limits agree", async () => {
    const { height, hash, chainId } = await core.lastBlockHeight({});
    const { statistics } = await core.statistics({});
    const { timestamp } = await core.getVegaTime({});
    expect(statistics).toMatchObject({
      status: ChainStatus.CONNECTED,
      blockHeight: height,
      blockHash: hash,
      chainId,
      totalMarkets: 0n, // The network never counts them.
      totalTrades: BigInt(2 * BLOCKS),
      // Three in each block, and sixty that rest on the books.
      totalOrders: BigInt(3 * BLOCKS + 60),
      genesisTime: "2023-10-19T08:00:01.007919Z",
      vegaTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}(\.\d+)?Z$/),
      epochSeq: height / 600n,
    });
    expect((await data.getVegaTime({})).timestamp).toBe(timestamp);
    expect(timestamp / 1_000_000n).toBe(BigInt(Date.parse(statistics?.vegaTime ?? "")));
    const { epoch } = await data.getEpoch({});
    expect(epoch).toMatchObject({ seq: 1n, timestamps: { firstBlock: 600n, lastBlock: 0n, endTime: 0n } });
    const { startTime = 0n, expiryTime } = epoch?.timestamps ?? {};
    expect(expiryTime).toBe(startTime + 600_000_000_000n);
    const before = await data.getEpoch({ block: 599n });
    expect(before.epoch).toMatchObject({ seq: 0n, timestamps: { firstBlock: 1n, lastBlock: 599n } });
    expect(before.epoch).toEqual((await data.getEpoch({ id: 0n })).epoch);
    expect(before.epoch?.timestamps?.endTime).toBeLessThan(startTime);
    const { limits } = await data.getNetworkLimits({});
    expect(limits).toMatchObject({ canProposeMarket: true, proposeMarketEnabledFrom: 0n, canProposeSpotMarket: false });
    // As recorded: only the core says what may be proposed of the newer kinds.
    const ofCore = (await state.listNetworkLimits({})).networkLimits;
    expect(ofCore).toEqual({ ...limits, canProposeSpotMarket: true, canProposePerpetualMarket: true, canUseAmm: true });
    expect((await data.info({})).version).toMatch(/^v0\.78\./);
  });

  test("parameters name an asset and a number of validators that are there", async () => {
    const { networkParameter } = await data.getNetworkParameter({ key: "reward.asset" });
    const assetId = networkParameter?.value ?? "";
    expect((await data.listAssets({ assetId })).assets?.edges.map((edge) => edge.node?.details?.symbol)).toEqual([
      "VEGA",
    ]);
    expect((await state.listAssets({ asset: assetId })).assets).toHaveLength(1);
    const listed = await state.listNetworkParameters({ networkParameterKey: "reward.asset" });
    expect(listed.networkParameters).toEqual([networkParameter]);
    expect((await state.listNetworkParameters({})).networkParameters.length).toBeGreaterThan(100);
    expect((await state.listParties({})).parties).toMatchObject([{ id: "network" }]);
  });

  test.each([
    ["a market", () => data.getMarket({ marketId: NOBODY })],
    ["an asset", () => data.getAsset({ assetId: NOBODY })],
    ["a listed asset", () => data.listAssets({ assetId: NOBODY })],
    ["a party", () => data.getParty({ partyId: NOBODY })],
    ["an order", () => data.getOrder({ orderId: NOBODY })],
    ["an epoch", () => data.getEpoch({ id: 2n })],
  ])("%s that is not there is NOT_FOUND", async (_, call) => {
    await expect(call()).rejects.toMatchObject({ code: Code.NotFound });
  });

  test("what is not there has no trades and an empty book", async () => {
    expect((await data.getLastTrade({ marketId: NOBODY })).trade).toBeUndefined();
    expect(await data.getLatestMarketDepth({ marketId: NOBODY })).toMatchObject({
      marketId: NOBODY,
      buy: [],
      sell: [],
    });
  });

  test.each([
    ["a market", () => data.getMarket({ marketId: "x" })],
    ["a market's book", () => data.getLatestMarketDepth({ marketId: NOBODY.slice(1) })],
    ["an asset", () => data.getAsset({ assetId: `${NOBODY}0` })],
    ["a party", () => data.getParty({ partyId: "x" })],
    ["an order", () => data.getOrder({ orderId: "x" })],
    ["an order's version", () => data.getOrder({ orderId: NOBODY, version: -1 })],
    ["a trade's market", () => data.getLastTrade({ marketId: "x" })],
    ["a filter of trades", () => data.listTrades({ partyIds: ["x"] })],
    ["a filter of orders", () => data.listOrders({ filter: { marketIds: ["x"] } })],
    ["a filter of accounts", () => data.listAccounts({ filter: { assetId: "x" } })],
    ["a filter of positions", () => data.listAllPositions({ filter: { partyIds: ["x"] } })],
    ["a page", () => data.listMarkets({ pagination: { first: 5001 } })],
    ["a cursor", () => data.listTrades({ pagination: { after: "!" } })],
  ])("%s of another form is INVALID_ARGUMENT", async (_, call) => {
    await expect(call()).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  test.each([
    ["data of a market that is not there", () => data.getLatestMarketData({ marketId: NOBODY })],
    ["a cursor of another listing", () => data.listTrades({ pagination: { after: "WyJ4Il0=" } })],
  ])("%s are INTERNAL", async (_, call) => {
    await expect(call()).rejects.toMatchObject({ code: Code.Internal });
  });

  test("the keys with balances have governance tokens, by a link each", async () => {
    const [party = ""] = node.keys;
    const { currentStakeAvailable, stakeLinkings } = await data.getStake({ partyId: party });
    expect(currentStakeAvailable).toBe(`1${"0".repeat(24)}`);
    const [link] = stakeLinkings?.edges.map((edge) => edge.node) ?? [];
    expect(link).toMatchObject({ party, amount: currentStakeAvailable, status: StakeLinking_Status.ACCEPTED });
    expect((await state.listPartiesStake({ party })).partiesStake).toMatchObject([
      { party, currentStakeAvailable, stakeLinkings: [link] },
    ]);
    expect((await state.listPartiesStake({})).partiesStake).toHaveLength(10);
    expect((await data.getStake({ partyId: NOBODY })).currentStakeAvailable).toBe("0");
  });

  test("the validators of the engine are the nodes of the data node", async () => {
    const nodes = (await data.listNodes({})).nodes?.edges.map((edge) => edge.node);
    expect((await state.listValidators({})).validators).toMatchObject([
      { nodeId: nodes?.[0]?.id, vegaPubKey: nodes?.[0]?.pubKey, tmPubKey: nodes?.[0]?.tmPubKey, added: true },
    ]);
    expect(nodes).toHaveLength(1);
  });
});

test("a history of a few blocks has every market, too", async () => {
  await using small = await startDevnode({ segments: 1, blocksPerSegment: 2, blockMs: 0 });
  await using client = createClient({ transport: "grpc", grpc: { url: small.grpcUrl } });
  const data = client.service(TradingDataService);
  const { markets } = await data.listMarkets({ includeSettled: true });
  expect(markets?.edges).toHaveLength(12);
  const { timestamp } = await data.getVegaTime({});
  for (const { node: market } of markets?.edges ?? []) {
    const { marketData } = await data.getLatestMarketData({ marketId: market?.id ?? "" });
    expect(marketData?.timestamp).toBeLessThanOrEqual(timestamp);
  }
});
