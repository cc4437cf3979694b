import { describe, expect, it } from "@jest/globals";
import {
  type CommandInit,
  createClient,
  createTransaction,
  type Guard,
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  PolicyError,
  parsePolicy,
  type SeedSigner,
  Side,
  StopOrder_ExpiryStrategy,
  StopOrder_SizeOverrideSetting,
} from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { createGrpcTransport } from "tradewire/transport";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import {
  marketRules,
  order,
  otherMarket,
  policyOf,
  refusal,
  signingAlone,
  useGuardedNode,
} from "../../support/guarded-node.js";
import { trade, volumeOf } from "../../support/leases.js";

const started = useGuardedNode();
const { newSigner, liveOrders } = started;
const { IOC } = Order_TimeInForce;

/** The name of the rule for which a guard refuses a command; `undefined` if it allows it. */
const refusedRule = async (guard: Guard, command: CommandInit) => (await refusal(guard, command))?.rule;

const guarded = async (signer: SeedSigner, rules: object = {}, more: object = {}) =>
  started.client.guard({ signer, policy: policyOf({ maxNotional: "1000000000", ...rules }, more) });

describe("a policy", () => {
  it("is parsed with defaults, and refuses what it does not know", () => {
    expect(parsePolicy(policyOf())).toMatchObject({ mode: "active", transfers: false, commands: [] });
    expect(() => parsePolicy({ ...policyOf(), maxOrderPerMinute: 1 })).toThrow(/maxOrdersPerMinute/);
    expect(() => parsePolicy(policyOf({ maxsize: "1" }))).toThrow(/maxSize/);
    expect(() => parsePolicy(policyOf({ maxSize: 1 }))).toThrow(/maxSize/);
    expect(() => parsePolicy(policyOf({}, { commands: ["voteSubmision"] }))).toThrow(/voteSubmission/);
    expect(() => parsePolicy(policyOf({}, { commands: ["orderSubmission"] }))).toThrow(/markets/);
    expect(() => parsePolicy(policyOf({}, { markets: { x: marketRules } }), "policy.json")).toThrow(
      /lowercase hex digits,/,
    );
  });
});

describe("a guard", () => {
  it("signs for the chain that the user names, unless the node is on loopback", async () => {
    const { node, client } = started;
    using signer = await newSigner();
    // The host of a transport that the user made is unknown.
    const transport = createGrpcTransport({ url: node.grpcUrl });
    await using elsewhere = createClient({ transport });
    await expect(elsewhere.guard({ signer, policy: policyOf() })).rejects.toMatchObject({
      name: "RequestError",
      summary: "the chain ID is required, because the node is not on loopback",
    });
    const { chainId } = await client.lastBlockHeight();
    await using _ = await elsewhere.guard({ signer, policy: policyOf(), chainId });
  });

  it("limits size, notional, distance and markets of orders", async () => {
    const { one } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer, { maxNotional: "500" });
    expect(await refusedRule(guard, order(10n * one))).toBeUndefined();
    expect(await refusedRule(guard, order(10n * one + 1n))).toBe("maxSize");
    expect(await refusedRule(guard, order(one, { price: "999999999" }))).toBe("maxNotional");
    // A sell order below the market trades at the market's price.
    expect(await refusedRule(guard, order(10n * one, { side: Side.SELL }))).toBe("maxNotional");
    expect(await refusedRule(guard, order(one, { marketId: "ab".repeat(32) }))).toBe("markets");
    await using near = await guarded(signer, { maxDistance: "0.05" });
    expect(await refusedRule(near, order(one))).toBe("maxDistance");
    const market = { type: Order_Type.MARKET, price: "", timeInForce: IOC };
    expect(await refusedRule(near, order(one, market))).toBe("maxDistance");
    expect(await refusedRule(near, order(one, { ...market, reduceOnly: true }))).toBeUndefined();
    const peggedOrder = { reference: PeggedReference.BEST_BID, offset: "1" };
    expect(await refusedRule(near, order(one, { price: "", peggedOrder }))).toBe("maxDistance");
  });

  it("counts the worst case of a side: signed orders, open orders and the position", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer);
    await trade({ client, signer: guard }, 5n * one);
    await eventually(async () => (await volumeOf({ client, signer })) === 5n * one);
    const rest = order(7n * one);
    await eventually(async () => (await refusedRule(guard, rest)) === undefined); // The guard has seen the position as well.
    await client.sendCommand(rest, { signer: guard });
    expect(await refusedRule(guard, order(1n))).toBe("maxPosition"); // At once, before it is listed.
    await eventually(async () => (await liveOrders(signer)).length === 1);
    expect(await refusedRule(guard, order(1n))).toBe("maxPosition");
    // The position gives no credit to the other side.
    const sell = (size: bigint) => order(size, { side: Side.SELL, price: "9000000" }).value;
    const batchOf = (size: bigint): CommandInit => ({
      case: "batchMarketInstructions",
      value: { submissions: [sell(6n * one), sell(size)] },
    });
    await using wide = await guarded(signer, { maxNotional: "99999999999999" });
    expect(await refusedRule(wide, batchOf(6n * one))).toBeUndefined();
    expect(await refusedRule(wide, batchOf(6n * one + 1n))).toBe("maxPosition");
  });

  it("checks amendments against what the order would become", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer, { maxNotional: "100000" });
    await client.sendCommand(order(4n * one), { signer: guard, until: "executed" });
    await eventually(async () => (await liveOrders(signer)).length === 1);
    const [orderId = ""] = await liveOrders(signer);
    const amend = (value: object): CommandInit => ({
      case: "orderAmendment",
      value: { orderId, marketId: openMarket, ...value },
    });
    await eventually(async () => (await refusedRule(guard, amend({ sizeDelta: -1n }))) === undefined);
    expect(await refusedRule(guard, amend({ size: 10n * one }))).toBeUndefined();
    expect(await refusedRule(guard, amend({ size: 10n * one + 1n }))).toBe("maxSize");
    expect(await refusedRule(guard, amend({ sizeDelta: 6n * one + 1n }))).toBe("maxSize");
    expect(await refusedRule(guard, amend({ price: "99999999999" }))).toBe("maxNotional");
    expect(await refusedRule(guard, amend({ orderId: "cd".repeat(32), size: 1n }))).toBe("state");
    // Signed amendments add up until they are seen.
    await client.signCommand(amend({ sizeDelta: 6n * one }), { signer: guard });
    expect(await refusedRule(guard, amend({ sizeDelta: 1n }))).toBe("maxSize");
    expect(await refusedRule(guard, order(2n * one))).toBeUndefined();
    expect(await refusedRule(guard, order(2n * one + 1n))).toBe("maxPosition");
  });

  it("limits the size of a stop order's own order, also if it takes the position's size later", async () => {
    const { one } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer, { maxNotional: "500000" });
    const closing = { side: Side.SELL, timeInForce: IOC, reduceOnly: true };
    const stop = (size: bigint, more: object, setup: object = {}): CommandInit => {
      const orderSubmission = order(size, { ...closing, ...more }).value;
      const fallsBelow: object = { orderSubmission, trigger: { case: "price", value: "99999999999" }, ...setup };
      return { case: "stopOrdersSubmission", value: { fallsBelow } };
    };
    const ofPosition = {
      sizeOverrideSetting: StopOrder_SizeOverrideSetting.POSITION,
      sizeOverrideValue: { percentage: "1" },
    };
    for (const setup of [{}, ofPosition]) {
      expect(await refusedRule(guard, stop(one, {}, setup))).toBeUndefined();
      expect(await refusedRule(guard, stop(10n * one + 1n, {}, setup))).toBe("maxSize");
      expect(await refusedRule(guard, stop(one, { price: "99999999999" }, setup))).toBe("maxNotional");
      expect(await refusedRule(guard, stop(one, { reduceOnly: false }, setup))).toBe("reduceOnly");
    }
  });

  it("has the rules of `*` for all other markets, and knows each market by one identifier", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    const markets = { [openMarket]: { ...marketRules, maxSize: "2" }, "*": marketRules };
    await using guard = await guarded(signer, {}, { markets });
    expect(await refusedRule(guard, order(3n * one))).toBe("maxSize");
    expect(await refusedRule(guard, order(one, { marketId: openMarket.toUpperCase() }))).toBe("markets");
    const missing = await refusal(guard, order(one, { marketId: "ab".repeat(32) }));
    expect(missing).toMatchObject({
      rule: "markets",
      summary: expect.stringContaining("the node has no market abab"),
      advice: expect.stringContaining("Nothing was signed."),
    });
    const { size } = await client.marketUnits(otherMarket);
    const other = (units: string) => order(size.parse(units), { marketId: otherMarket });
    expect(await refusedRule(guard, other("3"))).toBeUndefined();
    expect(await refusedRule(guard, other("11"))).toBe("maxSize");
    await client.sendCommand(other("8"), { signer: guard });
    expect(await refusedRule(guard, other("5"))).toBe("maxPosition"); // Each market has a position of its own.
    expect(await refusedRule(guard, order(2n * one))).toBeUndefined();
  });

  it("allows an amendment that brings an order nearer to the mark price", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    await using far = await guarded(signer);
    const sell = order(one, { side: Side.SELL, price: "9000000" });
    await client.sendCommand(sell, { signer: far, until: "executed" });
    await using near = await guarded(signer, { maxDistance: "0.1" });
    const [orderId = ""] = await liveOrders(signer);
    const { marketsData } = await client.service(TradingDataService).listLatestMarketData({});
    const mark = Number(marketsData.find(({ market }) => market === openMarket)?.markPrice);
    const amend = (value: object): CommandInit => ({
      case: "orderAmendment",
      value: { orderId, marketId: openMarket, ...value },
    });
    expect(await refusedRule(near, amend({ sizeDelta: 1n }))).toBe("maxDistance");
    expect(await refusedRule(near, amend({ price: String(Math.ceil(mark * 1.15)) }))).toBe("maxDistance");
    expect(await refusedRule(near, amend({ price: String(Math.ceil(mark * 1.05)) }))).toBeUndefined();
  });

  it("refuses other commands, unless they are named", async () => {
    using signer = await newSigner();
    await using guard = await guarded(signer);
    const vote: CommandInit = { case: "voteSubmission", value: { proposalId: "ab".repeat(32), value: 2 } };
    const cancel: CommandInit = { case: "cancelTransfer", value: { transferId: "ab".repeat(32) } };
    const [id, amount] = ["ab".repeat(32), "1"];
    const accounts = { fromAccountType: 4, toAccountType: 4 };
    const kind = { case: "oneOff", value: {} } as const;
    const transfer: CommandInit = { case: "transfer", value: { ...accounts, to: id, asset: id, amount, kind } };
    const refusals = async (by: Guard) => [
      await refusedRule(by, vote),
      await refusedRule(by, cancel),
      await refusedRule(by, transfer),
    ];
    expect(await refusals(guard)).toEqual(["commands", "commands", "commands"]);
    await using named = await guarded(signer, {}, { commands: ["voteSubmission"], transfers: true });
    expect(await refusals(named)).toEqual([undefined, undefined, undefined]);
  });

  it("limits the orders of a minute, and counts the same bytes once", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer, {}, { maxOrdersPerMinute: 2 });
    let signed = new Uint8Array();
    const keeping = {
      publicKey: guard.publicKey,
      sign(message: Uint8Array) {
        signed = Uint8Array.from(message);
        return guard.sign(message);
      },
    };
    await client.signCommand(order(one), { signer: keeping });
    const signature = await guard.sign(signed);
    expect(await guard.sign(signed)).toEqual(signature);
    await client.signCommand(order(one), { signer: guard });
    expect(await refusedRule(guard, order(one))).toBe("maxOrdersPerMinute");
    expect(await refusedRule(guard, { case: "orderCancellation", value: {} })).toBeUndefined();
  });

  it("refuses messages of another chain, without a chain, and with hidden fields", async () => {
    const { client } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer);
    const { chainId, height, hash } = await client.service(CoreService).lastBlockHeight({});
    const block = { chainId, height, hash, difficulty: 1, hashFunction: "sha3_24_rounds" };
    const messages: Uint8Array[] = [];
    const spy = {
      publicKey: signer.publicKey,
      sign(message: Uint8Array) {
        messages.push(message);
        return signer.sign(message);
      },
    };
    await createTransaction(order(1n), { signer: spy, block });
    await createTransaction(order(1n), { signer: spy, block: { ...block, chainId: "another-1" } });
    await createTransaction(order(1n), { signer: spy, block, version: "TX_VERSION_V2" });
    const [good = new Uint8Array(), otherChain = good, without = good] = messages;
    const ruleOf = (message: Uint8Array) =>
      guard.sign(message).then(
        () => "signed",
        (reason: unknown) => (reason instanceof PolicyError ? reason.rule : String(reason)),
      );
    const hidden = Uint8Array.from([...good, 0xf8, 0x7f, 1]); // Field 2047.
    expect(await ruleOf(good)).toBe("signed");
    expect(await Promise.all([otherChain, without, hidden].map(ruleOf))).toEqual(["chainId", "chainId", "message"]);
    expect(await ruleOf(good.slice(0, -1))).not.toBe("signed");
  });

  it("counts no cancellations, and refuses orders tied to blocks that the network is far from", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer, {}, { maxOrdersPerMinute: 1 });
    const { chainId, height } = await client.lastBlockHeight();
    const sign = signingAlone(guard, chainId);
    await expect(sign(order(one), height + 100_000n)).rejects.toMatchObject({
      name: "PolicyError",
      rule: "blockHeight",
      value: String(height + 100_000n),
    });
    // What was refused is not counted.
    expect(await refusedRule(guard, order(10n * one))).toBeUndefined();
    await sign({ case: "orderCancellation", value: {} }, 2n ** 62n);
    await sign({ case: "stopOrdersCancellation", value: {} }, 2n ** 62n);
    expect(await sign(order(one), height)).toHaveLength(64);
  });

  it("allows only what lowers the position, or only cancellations", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer, { maxNotional: "99999999999" }, { mode: "reducing" });
    await trade({ client, signer }, 3n * one);
    const sell = (size: bigint) => order(size, { side: Side.SELL, price: "9000000" });
    await eventually(async () => (await refusedRule(guard, sell(3n * one))) === undefined);
    expect(await refusedRule(guard, order(one))).toBe("mode");
    expect(await refusedRule(guard, sell(3n * one + 1n))).toBe("mode");
    await client.sendCommand(sell(2n * one), { signer: guard });
    expect(await refusedRule(guard, sell(one + 1n))).toBe("mode");
    const reduceOnly = order(one, {
      side: Side.SELL,
      type: Order_Type.MARKET,
      price: "",
      timeInForce: IOC,
      reduceOnly: true,
    });
    expect(await refusedRule(guard, reduceOnly)).toBeUndefined();
    guard.setMode("halted");
    expect(await refusedRule(guard, reduceOnly)).toBe("mode");
    expect(await refusedRule(guard, { case: "stopOrdersCancellation", value: {} })).toBeUndefined();
    expect(
      await refusedRule(guard, { case: "batchMarketInstructions", value: { cancellations: [{}] } }),
    ).toBeUndefined();
  });

  it("kills: halts, and cancels everything until nothing is listed", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    await using guard = await guarded(signer, { maxNotional: "99999999999" });
    await trade({ client, signer: guard }, 2n * one);
    await client.sendCommand(order(one), { signer: guard });
    const orderSubmission = order(one, {
      side: Side.SELL,
      type: Order_Type.MARKET,
      price: "",
      timeInForce: IOC,
      reduceOnly: true,
    });
    const stop = { orderSubmission: orderSubmission.value, trigger: { case: "price", value: "1" } } as const;
    const fallsBelow = { ...stop, expiryStrategy: StopOrder_ExpiryStrategy.UNSPECIFIED };
    const value: object = { fallsBelow };
    const stopped = await client.sendCommand(
      { case: "stopOrdersSubmission", value },
      { signer: guard, until: "executed" },
    );
    expect(stopped.outcome.status).toBe("executed");
    const report = await guard.kill();
    expect(report).toMatchObject({ isClear: true, orders: [], stopOrders: [], unseen: 0 });
    expect(report.positions).toEqual({ [openMarket]: String(2n * one) });
    expect(guard.mode).toBe("halted");
    expect(await liveOrders(signer)).toEqual([]);
    await expect(client.sendCommand(order(one), { signer: guard })).rejects.toMatchObject({
      rule: "mode",
      value: "halted",
    });
  });
});
