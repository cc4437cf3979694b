import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Client, createClient, NodeError, type Signer, signerFromMnemonic } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { Proposal_State, Vote_Value } from "tradewire/gen/vega/governance_pb.js";
import { Market_State } from "tradewire/gen/vega/markets_pb.js";
import { AccountType, Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { newMarket } from "../support/new-market.js";

let node: Devnode;
let client: Client;
let ann: Signer;
let bob: Signer;
let now = BigInt(Date.parse("2031-01-01T00:00:00Z")) / 1000n;

beforeAll(async () => {
  node = await startDevnode({
    chainId: "devnode-1",
    segments: 2,
    blocksPerSegment: 10,
    blockMs: 0,
    profile: "deployed",
  });
  client = createClient({ profile: "deployed", transport: "grpc", grpc: { url: node.grpcUrl } });
  ann = await signerFromMnemonic(node.mnemonic, { index: 1 });
  bob = await signerFromMnemonic(node.mnemonic, { index: 2 });
  await nextBlock();
});
afterAll(async () => {
  await client.close();
  await node.close();
});

const data = () => client.service(TradingDataService);

async function nextBlock(seconds = 1n): Promise<void> {
  now += seconds;
  node.setTime(new Date(Number(now) * 1000).toISOString());
  await node.makeBlock();
}

async function send(signer: Signer, command: Parameters<Client["sendCommand"]>[0]): Promise<void> {
  expect(await client.sendCommand(command, { signer })).toMatchObject({ success: true });
  await nextBlock();
}

describe("a market", () => {
  test("is proposed, voted on, enacted and traded in", async () => {
    const { assets } = await data().listAssets({});
    const settlementAsset = assets?.edges.find(({ node: asset }) => asset?.details?.symbol === "DAI")?.node?.id ?? "";
    expect(settlementAsset).toMatch(/^[0-9a-f]{64}$/);
    await send(ann, newMarket(ann.publicKey, { settlementAsset, closingTimestamp: now + 25n }));
    const { connection } = await data().listGovernanceData({});
    const proposal = connection?.edges
      .map((edge) => edge.node?.proposal)
      .find((found) => found?.reference === "a market");
    expect(proposal).toMatchObject({ state: Proposal_State.OPEN, partyId: ann.publicKey });
    const proposalId = proposal?.id ?? "";
    for (const signer of [ann, bob]) {
      await send(signer, { case: "voteSubmission", value: { proposalId, value: Vote_Value.YES } });
    }
    const { votes } = await data().listVotes({ proposalId });
    expect(votes?.edges.map(({ node: vote }) => vote?.partyId)).toEqual([bob.publicKey, ann.publicKey]);
    await nextBlock(30n);
    await nextBlock(5n);
    const marketState = async () => (await data().getMarket({ marketId: proposalId })).market?.state;
    expect(await marketState()).toBe(Market_State.PENDING);
    const order = (side: Side, price: string) => ({
      case: "orderSubmission" as const,
      value: {
        marketId: proposalId,
        side,
        price,
        size: 1n,
        timeInForce: Order_TimeInForce.GTC,
        type: Order_Type.LIMIT,
      },
    });
    await send(ann, order(Side.BUY, "10000"));
    await send(bob, order(Side.SELL, "10000"));
    await nextBlock();
    expect(await marketState()).toBe(Market_State.ACTIVE);
    await send(ann, order(Side.BUY, "10100"));
    await send(bob, order(Side.SELL, "10100"));
    const { trades } = await data().listTrades({ marketIds: [proposalId] });
    expect(trades?.edges.map(({ node: trade }) => trade?.price)).toEqual(["10100", "10000"]);
    const { data: governed } = await data().getGovernanceData({ proposalId });
    expect(governed).toMatchObject({ proposal: { state: Proposal_State.ENACTED }, yes: [{}, {}], no: [] });
    expect((await data().listOracleSpecs({})).oracleSpecs?.edges).toHaveLength(2);
  });

  test("proposals and votes are in the core's state too", async () => {
    const state = client.service(CoreStateService);
    const { proposals } = await state.listProposals({});
    expect(proposals.map(({ reference }) => reference)).toEqual(["a market"]);
    expect((await state.listVotes({ party: ann.publicKey })).votes).toHaveLength(1);
    // As recorded of the real network.
    await expect(state.listVotes({})).rejects.toThrow("missing proposal or party filter");
  });
});

// As recorded of the real network, whatever their status (datanode/entities/stop_orders.go).
test("stop orders are listed without the time of their last change", async () => {
  const { orders } = await data().listStopOrders({ pagination: { first: 100 } });
  const listed = (orders?.edges ?? []).map(({ node: each }) => each?.stopOrder);
  expect(new Set(listed.map((each) => each?.status)).size).toBeGreaterThan(1);
  const [first] = listed;
  const { order } = await data().getStopOrder({ orderId: first?.id ?? "" });
  expect([order?.stopOrder, ...listed].filter((each) => each === undefined || each.updatedAt !== undefined)).toEqual(
    [],
  );
});

describe("transfers", () => {
  test("are listed with their fees, by direction and kind", async () => {
    const asset =
      (await data().listAccounts({ filter: { partyIds: [ann.publicKey] } })).accounts?.edges[0]?.node?.asset ?? "";
    const base = {
      fromAccountType: AccountType.GENERAL,
      toAccountType: AccountType.GENERAL,
      to: bob.publicKey,
      asset,
      amount: "1000000000000000000",
    };
    await send(ann, { case: "transfer", value: { ...base, kind: { case: "oneOff", value: {} } } });
    await send(ann, {
      case: "transfer",
      value: { ...base, kind: { case: "recurring", value: { startEpoch: 5n, factor: "1" } } },
    });
    const list = async (request: Parameters<ReturnType<typeof data>["listTransfers"]>[0]) =>
      (await data().listTransfers(request)).transfers?.edges.map(({ node: each }) => each?.transfer?.kind.case);
    expect(await list({})).toEqual(["recurring", "oneOff"]);
    expect(await list({ pubkey: bob.publicKey, direction: 2 })).toEqual(["recurring", "oneOff"]);
    expect(await list({ pubkey: bob.publicKey, direction: 1 })).toEqual([]);
    expect(await list({ fromEpoch: 5n })).toEqual(["recurring"]);
    const [, oneOff] = (await data().listTransfers({})).transfers?.edges ?? [];
    const transferId = oneOff?.node?.transfer?.id ?? "";
    expect((await data().getTransfer({ transferId })).transferNode).toMatchObject({ fees: [{ transferId }] });
  });
});

describe("wrong requests are answered as the real network recorded them", () => {
  const reason = async (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => "OK",
      (error: unknown) => JSON.stringify(error instanceof NodeError ? error.details : String(error)),
    );

  test.each<[string, () => Promise<unknown>, string]>([
    ["a transfer without an identifier", () => data().getTransfer({}), "missing transfer id"],
    [
      "an unknown transfer",
      () => data().getTransfer({ transferId: "ee".repeat(32) }),
      "no resource corresponding to this id",
    ],
    [
      "a transfer with a bad identifier",
      () => data().getTransfer({ transferId: "zz" }),
      "not a valid hex id (or well known exception)",
    ],
    ["votes of nothing", () => data().listVotes({}), "missing proposal id and party id"],
    ["no proposal", () => data().getGovernanceData({}), "missing proposal ID or reference"],
    ["an unknown proposal", () => data().getGovernanceData({ proposalId: "ee".repeat(32) }), "failed to get proposal"],
    ["an unknown withdrawal", () => data().getWithdrawal({ id: "ee".repeat(32) }), "failed to get withdrawal"],
  ])("%s", async (_, call, text) => {
    expect(await reason(call())).toContain(text);
  });
});
