// Slow, and worth it: each command that the real network was sent is sent to the local node, and waits for its block.
// The local node beside the recorded commands of the real network: each command, sent again by parties and on a market of the
// local node, comes to the same. Differences that stand are listed with their reasons in recorded/differences.json.

import { readFile } from "node:fs/promises";
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { expect, it } from "@jest/globals";
import { sha3_256 } from "@noble/hashes/sha3.js";
import {
  type Client,
  CommandError,
  type CommandInit,
  createClient,
  type Signer,
  signerFromMnemonic,
  signerFromSeed,
  TransactionError,
} from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { openMarket } from "../support/devnode.js";
import { readRecorded } from "./recorded.js";

/** A recorded command, from its submission to its result. */
interface RecordedCommand {
  readonly name: string;
  /** Who sent it, and its public key. */
  readonly by: string;
  readonly key: string;
  readonly kind: string;
  readonly command: JsonObject;
  /** The first identifier that its signature gives. */
  readonly id?: string;
  readonly outcome: { readonly status: string; readonly reason?: string };
}

/**
 * Commands whose outcome is no result of the network: nothing tells what becomes of delayed transactions, and a rejected stop
 * order has a result that says it succeeded.
 */
const WITHOUT_RESULT = new Set(["delayed transactions", "stop order without position and order"]);

/** Why cases differ, and which. */
interface Differences {
  readonly reason: string;
  readonly cases: readonly string[];
}

/** The part of the list that is about commands. */
interface Listed {
  readonly commands: readonly Differences[];
}

const DIFFERENCES = new URL("recorded/differences.json", import.meta.url);

/** The settlement asset and the opening price of the recorded market. */
const TDAI = `${"1".repeat(63)}d`;
const PRICE = 10_000_000_000n;

/** Fields that hold prices of the market, and those that hold amounts. */
const PRICES = new Set(["price", "base", "lowerBound", "upperBound"]);
const AMOUNTS = new Set(["amount", "commitmentAmount"]);

/** Fields that hold times yet to come, and their units in a second. */
const TIMES = new Map([
  ["closingTimestamp", 1n],
  ["enactmentTimestamp", 1n],
  ["deliverOn", 10n ** 9n],
]);

/** When the commands were recorded, in Unix seconds: an hour before the delivery of the delayed transfer (commands.mjs). */
const RECORDED_AT = 1_795_406_705n;

/** The seconds since then: times yet to come are as far from the clock as they were. */
const SINCE = BigInt(Math.floor(Date.now() / 1000)) - RECORDED_AT;

/** The assets of the local node have more decimals. */
const AMOUNT_SCALE = 10n ** 6n;

/** The party without funds of the recordings. */
const POOR = "poor";

/** LatestEvent values, and what stands for them on the local node. */
type Values = Map<string, string>;

/** A JSON value with local values for recorded ones. */
function localized(value: JsonValue, values: Values, price: bigint, key = ""): JsonValue {
  if (Array.isArray(value)) {
    return value.map((each) => localized(each, values, price, key));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, localized(each, values, price, name)]),
    );
  }
  if (typeof value !== "string") {
    return value;
  }
  if (PRICES.has(key) && /^\d{9,}$/.test(value)) {
    return localPrice(BigInt(value), price);
  }
  const second = TIMES.get(key);
  if (second !== undefined) {
    return String(BigInt(value) + SINCE * second);
  }
  return AMOUNTS.has(key) && /^\d+$/.test(value) ? String(BigInt(value) * AMOUNT_SCALE) : (values.get(value) ?? value);
}

/** The price that is as far from the local price as the recorded one from its own; one that differs at all differs by 1. */
function localPrice(recorded: bigint, price: bigint): string {
  const offset = ((recorded - PRICE) * price) / PRICE;
  return String(price + (offset === 0n && recorded !== PRICE ? (recorded > PRICE ? 1n : -1n) : offset));
}

/** What a command came to, with local identifiers written as the recorded ones. */
function comparable({ status, reason = "" }: RecordedCommand["outcome"], values: Values): string {
  const text = [...values].reduce((said, [recorded, local]) => said.replaceAll(local, recorded), reason);
  return `${status}: ${text.replace(/0\.\d+/g, "0.N")}`;
}

/** Send a command, and say what the client reports. */
async function send(client: Client, command: CommandInit, signer: Signer) {
  try {
    const { outcome, transaction } = await client.sendCommand(command, { signer, until: "executed", timeoutMs: 5000 });
    const reason = outcome.status === "executed" ? "" : outcome.reason;
    return { status: outcome.status, reason, signature: transaction.signature?.value };
  } catch (error) {
    if (error instanceof TransactionError) {
      return { status: "refused", reason: error.result.data };
    }
    if (error instanceof CommandError) {
      return { status: "not sent", reason: error.summary };
    }
    throw error;
  }
}

/** The commands that come to something else on the local node, by their names: what they come to. */
async function differingCommands(): Promise<Map<string, string>> {
  const recorded = await readRecorded<RecordedCommand>("command-kinds");
  await using node = await startDevnode({ profile: "deployed", blockMs: 50, segments: 2, blocksPerSegment: 20 });
  await using client = createClient({ profile: "deployed", grpc: { url: node.grpcUrl } });
  const data = client.service(TradingDataService);
  const { market } = await data.getMarket({ marketId: openMarket });
  const product = market?.tradableInstrument?.instrument?.product;
  const asset = product?.value !== undefined && "settlementAsset" in product.value ? product.value.settlementAsset : "";
  const { marketData } = await data.getLatestMarketData({ marketId: openMarket });
  const price = BigInt(marketData?.markPrice ?? "1");
  const { market: recordedMarket, alice, bob } = recorded;
  const values: Values = new Map([
    [recordedMarket, openMarket],
    [TDAI, asset],
  ]);
  const signers = new Map<string, Signer>([[POOR, signerFromSeed("77".repeat(32))]]);
  const keys = new Map([
    ["alice", alice],
    ["bob", bob],
    ...recorded.cases.map(({ by, key }): [string, string] => [by, key]),
  ]);
  for (const [name, key] of keys) {
    const signer = signers.get(name) ?? (await signerFromMnemonic(node.mnemonic, { index: signers.size }));
    signers.set(name, signer);
    values.set(key, signer.publicKey);
  }
  const differing = new Map<string, string>();
  for (const { name, by, kind, command, id, outcome } of recorded.cases.filter(
    (each) => !WITHOUT_RESULT.has(each.name),
  )) {
    const signer = signers.get(by);
    const json = { [kind]: localized(command, values, price) };
    const { command: init } = fromJson(InputDataSchema, json);
    if (signer === undefined || init.case === undefined) {
      throw new Error(`${name} has no sender or no command`);
    }
    const found = await send(client, init, signer);
    if (id !== undefined && found.signature !== undefined) {
      values.set(id, Buffer.from(sha3_256(Buffer.from(found.signature, "hex"))).toString("hex"));
    }
    if (found.reason.startsWith("the local node does not execute ")) {
      continue; // docs/devnode.md lists these commands.
    }
    const [local, expected] = [comparable(found, values), comparable(outcome, new Map())];
    if (local !== expected) {
      differing.set(name, local);
    }
  }
  return differing;
}

it("comes to what the real network made of each command, but for the listed differences", async () => {
  const { commands: listed }: Listed = JSON.parse(await readFile(DIFFERENCES, "utf8"));
  const differing = await differingCommands();
  const known = listed.flatMap(({ cases }) => cases);
  expect({
    new: [...differing].filter(([name]) => !known.includes(name)),
    gone: known.filter((name) => !differing.has(name)),
  }).toEqual({ new: [], gone: [] });
  expect(listed.filter(({ reason }) => reason === "")).toEqual([]);
});
