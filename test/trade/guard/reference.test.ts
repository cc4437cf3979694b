// Random policies and commands: the guard decides as a second one that is written from the documentation alone.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  type Client,
  type CommandInit,
  createTransaction,
  type Guard,
  type GuardMode,
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  type PolicyCommand,
  PolicyError,
  parsePolicy,
  type SeedSigner,
  Side,
  signerFromMnemonic,
} from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import { clientOf, limitOrder, trade, volumeOf } from "../../support/leases.js";
import { isFull } from "../../support/tier.js";
import { createReference, type KnownMarket, type KnownOrder, type Step, typeOf } from "./reference.js";

const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
/** Another open market, on which the key has nothing, and one that no node has. */
const otherMarket = "2b67c09c1d3e2dd8bcfb9fac2f7b428fa5b3e191fe84652ef882678bd13434c7";
const strangeMarket = "ab".repeat(32);
const { GTC, IOC } = Order_TimeInForce;

let node: Devnode;
let client: Client;
let signer: SeedSigner;
let orders: readonly KnownOrder[];
const markets = new Map<string, KnownMarket>();
beforeAll(async () => {
  node = await startDevnode({ profile: "deployed", blockMs: 0, segments: 1, blocksPerSegment: 20 });
  client = clientOf(node.grpcUrl);
  signer = await signerFromMnemonic(node.mnemonic, { index: 3 });
  await setUp();
});
afterAll(async () => {
  signer[Symbol.dispose]();
  await client.close();
  await node.close();
});

/** The least time between two blocks: a hundred of them must take longer than a proof of work on a busy machine. */
const BLOCK_MS = 100;

/** Makes blocks while something is done. */
async function whileBlocks(act: Promise<void>): Promise<void> {
  let isDone = false;
  const ended = act.finally(() => {
    isDone = true;
  });
  let madeAt = 0;
  await eventually(async () => {
    if (performance.now() - madeAt >= BLOCK_MS) {
      madeAt = performance.now();
      await node.makeBlock();
    }
    return isDone;
  });
  await ended;
}

/** Gives the key a position and orders of each kind. Afterwards no block is made, so nothing changes but by what is signed. */
async function setUp(): Promise<void> {
  const units = await client.marketUnits(openMarket);
  const one = units.size.parse("1");
  const sell = { side: Side.SELL, price: "9000000", timeInForce: GTC };
  const pegged = { price: "", peggedOrder: { reference: PeggedReference.BEST_BID, offset: "5" }, timeInForce: GTC };
  await whileBlocks(
    (async () => {
      await trade({ client, signer }, 3n * one);
      for (const more of [
        { size: 2n * one, timeInForce: GTC },
        { size: 4n * one, ...sell },
        { size: 5n * one, timeInForce: GTC, icebergOpts: { peakSize: 2n * one, minimumVisibleSize: one } },
        { size: one, ...pegged },
      ]) {
        await client.sendCommand(limitOrder(more), { signer, until: "executed" });
      }
    })(),
  );
  const data = client.service(TradingDataService);
  const listed = await data.listOrders({ filter: { partyIds: [signer.publicKey], liveOnly: true } });
  orders = (listed.orders?.edges ?? []).flatMap(({ node: order }) =>
    order === undefined
      ? []
      : [
          {
            ...order,
            price: BigInt(order.peggedOrder === undefined ? order.price : 0),
            isPegged: order.peggedOrder !== undefined,
            remaining: order.remaining + (order.icebergOrder?.reservedRemaining ?? 0n),
          },
        ],
  );
  expect(orders.map(({ remaining }) => remaining).sort()).toEqual([one, 2n * one, 4n * one, 5n * one].sort());
  const { marketsData } = await data.listLatestMarketData({});
  for (const marketId of [openMarket, otherMarket]) {
    const { price, size } = await client.marketUnits(marketId);
    markets.set(marketId, {
      priceDecimals: price.decimals,
      sizeDecimals: size.decimals,
      mark: BigInt(marketsData.find(({ market }) => market === marketId)?.markPrice ?? "0") || undefined,
      position: marketId === openMarket ? await volumeOf({ client, signer }) : 0n,
    });
  }
}

const ACTIVE = ["active", "active", "active"] as const;
const oneOf = fc.constantFrom<string[]>;
const marketRules = fc.record(
  {
    maxSize: oneOf("0.5", "4.5", "5", "100", "100", "2000000"),
    maxNotional: oneOf("1", "600000", "2000000", "99999999999", "99999999999", "99999999999"),
    maxPosition: oneOf("3", "10.25", "16", "20", "60"),
    maxDistance: oneOf("0.05", "0.5", "1", "3", "5"),
  },
  { requiredKeys: ["maxSize", "maxNotional", "maxPosition"] },
);
const policies = fc.record({
  maxOrdersPerMinute: fc.constantFrom(0, 5, 10, 1000, 1000, 1000),
  mode: fc.constantFrom<GuardMode>(...ACTIVE, ...ACTIVE, "reducing", "halted"),
  transfers: fc.boolean(),
  commands: fc.subarray<PolicyCommand>(["voteSubmission", "cancelTransfer"]),
  markets: fc.oneof(
    fc.record({ [openMarket]: marketRules, "*": marketRules }, { requiredKeys: [openMarket] }),
    fc.record({ "*": marketRules }, { requiredKeys: [] }),
  ),
});

/** Sizes and prices in shares, which are made units of a market when it is known. */
const marketIds = fc.oneof(
  { weight: 12, arbitrary: fc.constant(openMarket) },
  { weight: 3, arbitrary: fc.constant(otherMarket) },
  { weight: 1, arbitrary: fc.constant(strangeMarket) },
);
const sizes = fc.constantFrom(0.1, 1, 1, 1, 2, 2, 3, 4.5, 5, 11, 1e6);
const prices = fc.constantFrom(0.0001, 0.4, 0.94, 0.951, 1, 1, 1.049, 1.06, 1.6, 5);
const sides = fc.constantFrom(Side.BUY, Side.SELL);
const priceKinds = fc.constantFrom("limit", "limit", "limit", "market", "pegged");
const drafts = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("order" as const),
      marketId: marketIds,
      side: sides,
      size: sizes,
      price: prices,
      priceKind: priceKinds,
      isReduceOnly: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("amendment" as const),
      marketId: marketIds,
      order: fc.nat(4),
      size: sizes,
      price: prices,
      changes: oneOf("size", "more", "less", "price", "size price", "more price"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("stopOrders" as const),
      marketId: marketIds,
      side: sides,
      size: sizes,
      price: prices,
      isMarket: fc.boolean(),
      isReduceOnly: fc.constantFrom(true, true, true, false),
      isPair: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancellation" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("other" as const),
      name: fc.constantFrom("voteSubmission" as const, "cancelTransfer" as const),
    }),
  },
);
type Draft = typeof drafts extends fc.Arbitrary<infer T> ? T : never;
const actions = fc.oneof(
  { weight: 10, arbitrary: drafts.map((draft) => ({ kind: "command" as const, drafts: [draft], isBatch: false })) },
  {
    weight: 3,
    arbitrary: fc
      .array(drafts, { minLength: 1, maxLength: 4 })
      .map((each) => ({ kind: "command" as const, drafts: each, isBatch: true })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<GuardMode>("active", "reducing", "halted")
      .map((mode) => ({ kind: "mode" as const, mode })),
  },
);

/** Makes a step of a draft, in the units of its market. */
function stepOf(draft: Draft): Step {
  if (draft.kind === "cancellation" || draft.kind === "other") {
    return draft;
  }
  const { sizeDecimals = 0, mark = 1n } = markets.get(draft.marketId) ?? {};
  const size = BigInt(Math.ceil(draft.size * 10 ** sizeDecimals));
  const price = BigInt(Math.max(1, Math.round(Number(mark) * draft.price)));
  const { marketId } = draft;
  if (draft.kind === "order") {
    const isPegged = draft.priceKind === "pegged";
    const isReduceOnly = draft.isReduceOnly && !isPegged;
    return { ...draft, size, price: draft.priceKind === "limit" ? price : undefined, isPegged, isReduceOnly };
  }
  if (draft.kind === "stopOrders") {
    return { ...draft, size, price: draft.isMarket ? undefined : price, count: draft.isPair ? 2 : 1 };
  }
  const order = orders[draft.order];
  const isPriced = draft.changes.includes("price") && order?.isPegged !== true;
  return {
    kind: "amendment",
    marketId,
    orderId: order?.id ?? "cd".repeat(32),
    ...(draft.changes.startsWith("size") && { size }),
    ...(draft.changes.startsWith("more") && { sizeDelta: size }),
    ...((draft.changes === "less" || (draft.changes === "price" && !isPriced)) && { sizeDelta: -size }),
    ...(isPriced && { price }),
  };
}

/** The fields of a command with one step. */
function commandOf(step: Step): CommandInit {
  switch (step.kind) {
    case "cancellation":
      return { case: "orderCancellation", value: {} };
    case "other": {
      const id = "ab".repeat(32);
      return step.name === "voteSubmission"
        ? { case: "voteSubmission", value: { proposalId: id, value: 2 } }
        : { case: "cancelTransfer", value: { transferId: id } };
    }
    case "order": {
      const { marketId, side, size, price, isReduceOnly, isPegged } = step;
      const reference = side === Side.BUY ? PeggedReference.BEST_BID : PeggedReference.BEST_ASK;
      const value = {
        ...{
          marketId,
          side,
          size,
          type: typeOf(step),
          reduceOnly: isReduceOnly,
          price: price === undefined ? "" : String(price),
        },
        timeInForce: isReduceOnly || (price === undefined && !isPegged) ? IOC : GTC,
        ...(isPegged && { peggedOrder: { reference, offset: "5" } }),
      };
      return { case: "orderSubmission", value };
    }
    case "amendment": {
      const { marketId, orderId, size, sizeDelta, price } = step;
      const value = { marketId, orderId, ...(size && { size }), ...(sizeDelta && { sizeDelta }) };
      return { case: "orderAmendment", value: { ...value, ...(price && { price: String(price) }) } };
    }
    case "stopOrders": {
      const { marketId, side, size, price, isReduceOnly, count } = step;
      const type = price === undefined ? Order_Type.MARKET : Order_Type.LIMIT;
      const order = { marketId, side, size, type, price: price === undefined ? "" : String(price) };
      const orderSubmission = { ...order, timeInForce: IOC, reduceOnly: isReduceOnly };
      const setup = { orderSubmission, trigger: { case: "price", value: "1000" } } as const;
      return { case: "stopOrdersSubmission", value: { risesAbove: setup, ...(count === 2 && { fallsBelow: setup }) } };
    }
  }
}

/** A batch of steps, in the order in which the network executes its parts. */
function batchOf(all: readonly Step[]): { readonly command: CommandInit; readonly steps: readonly Step[] } {
  const amended = new Set<string>();
  const steps = all.filter((step) => {
    const isAgain = step.kind === "amendment" && amended.has(step.orderId); // A batch may amend an order once.
    amended.add(step.kind === "amendment" ? step.orderId : "");
    return !isAgain;
  });
  const ofKind = (kind: Step["kind"]) => steps.filter((step) => step.kind === kind);
  const valuesOf = (kind: Step["kind"]) => ofKind(kind).map((step) => commandOf(step).value);
  const parts = {
    cancellations: valuesOf("cancellation"),
    amendments: valuesOf("amendment"),
    submissions: valuesOf("order"),
    stopOrdersSubmission: valuesOf("stopOrders"),
  };
  const command = { case: "batchMarketInstructions", value: parts } as CommandInit;
  return { command, steps: [...ofKind("amendment"), ...ofKind("order"), ...ofKind("stopOrders")] };
}

/** The rule for which a guard does not sign a command; `undefined` if it does. */
async function refusal(guard: Guard, command: CommandInit): Promise<string | undefined> {
  const { chainId, height, hash } = await client.service(CoreService).lastBlockHeight({});
  const block = { chainId, height, hash, difficulty: 1, hashFunction: "sha3_24_rounds" };
  try {
    await createTransaction(command, { signer: guard, block });
    return undefined;
  } catch (reason) {
    if (reason instanceof PolicyError) {
      return reason.rule;
    }
    throw reason;
  }
}

it("decides as the documentation says", async () => {
  const counts = { signed: 0, refused: new Map<string, number>() };
  await fc.assert(
    fc.asyncProperty(
      policies,
      fc.array(actions, { minLength: 1, maxLength: 25, size: "max" }),
      async (policy, sequence) => {
        await using guard = await client.guard({ signer, policy });
        const reference = createReference(parsePolicy(policy), markets, orders);
        for (const action of sequence) {
          if (action.kind === "mode") {
            guard.setMode(action.mode);
            reference.mode = action.mode;
            continue;
          }
          const [first, ...rest] = action.drafts.map(stepOf).filter((step) => !action.isBatch || step.kind !== "other");
          if (first === undefined) {
            continue;
          }
          const { command, steps } = action.isBatch
            ? batchOf([first, ...rest])
            : { command: commandOf(first), steps: [first] };
          const rules = reference.refusals(steps);
          let rule: string | undefined;
          await eventually(async () => {
            rule = await refusal(guard, command);
            return rule !== "state" || rules.has(rule); // On a busy machine, what the guard knows may be too old for a while.
          });
          // Of several rules the guard names the one that it comes to first.
          expect({ command, rules: [...rules], rule }).toEqual({
            command,
            rules: [...rules],
            rule: rules.has(rule ?? "") ? rule : [...rules][0],
          });
          counts.signed += rule === undefined ? 1 : 0;
          if (rule !== undefined) {
            counts.refused.set(rule, (counts.refused.get(rule) ?? 0) + 1);
          }
        }
      },
    ),
    { seed: SEED, numRuns: isFull() ? 400 : 30 },
  );
  expect(counts.signed).toBeGreaterThan(30);
  expect(Math.max(...counts.refused.values())).toBeLessThan(counts.signed * 3);
  const rules = [
    "commands",
    "markets",
    "maxDistance",
    "maxNotional",
    "maxOrdersPerMinute",
    "maxPosition",
    "maxSize",
    "mode",
    "reduceOnly",
    "state",
  ];
  expect(isFull() ? [...counts.refused.keys()].sort() : rules).toEqual(rules);
}, 900_000);
