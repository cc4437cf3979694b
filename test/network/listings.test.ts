// Slow, and worth it: some hundred answers of the real network are compared with those of the local node.
import { readFileSync } from "node:fs";
import {
  type DescMethod,
  type DescMethodUnary,
  fromJson,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type CommandInit, createClient, signerFromMnemonic } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { ErrorDetailSchema, Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { openMarket, ownAsset } from "../support/devnode.js";
import { restingOrder, stopOrder } from "../support/transactions.js";

/** A call of the data node and what the real network made of it. */
interface Case {
  readonly name: string;
  readonly method: string;
  readonly request: JsonObject;
  readonly answer?: JsonObject;
  readonly listed?: Listed;
  readonly error?: Failure;
}

/** A page of a listing: how many records it has, and the fields that they are in the order of. */
interface Listed {
  readonly records: number;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly order?: Readonly<Record<string, string>>;
}

interface Failure {
  readonly code: number;
  readonly message: string;
  readonly details: readonly { readonly code: number; readonly message: string; readonly inner: string }[];
}

const { cases }: { cases: readonly Case[] } = JSON.parse(
  readFileSync(new URL("recorded/listings.json", import.meta.url), "utf8"),
);
/** Where the local node answers otherwise: `all` cases of a method, or some. */
const { listings: differences }: { listings: readonly { method: string; cases: readonly string[]; reason: string }[] } =
  JSON.parse(readFileSync(new URL("recorded/differences.json", import.meta.url), "utf8"));
const methods = [...new Set(cases.map(({ method }) => method.slice(method.indexOf("/") + 1)))];

/** What another party has done. */
const withdrawal: CommandInit = { case: "withdrawSubmission", value: { asset: ownAsset, amount: "1000" } };

/** What the party of the recorded requests has done: its first order opens its margin account, its second one trades. */
const partyCommands: readonly CommandInit[] = [
  restingOrder,
  {
    case: "orderSubmission",
    value: {
      ...{ marketId: openMarket, size: 1n, side: Side.BUY },
      ...{ timeInForce: Order_TimeInForce.IOC, type: Order_Type.MARKET },
    },
  },
  stopOrder(),
  { case: "updatePartyProfile", value: { alias: "ann" } },
];

let node: Devnode;
let call: (method: string, request: JsonObject) => Promise<Message>;
/** What the names in the recorded requests stand for on the local node; with a method's name, in its requests alone. */
const identifiers = new Map<string, string>();

beforeAll(async () => {
  node = await startDevnode({ profile: "deployed", segments: 31, blocksPerSegment: 20, blockMs: 0 });
  const transport = createGrpcTransport({ baseUrl: node.grpcUrl });
  await using own = createClient({ profile: "deployed", transport: "grpc", grpc: { url: node.grpcUrl } });
  const client = own.service(TradingDataService);
  call = async (name, request) => {
    const method = methodOf(name);
    const input = fromJson(method.input, request);
    const { message } = await transport.unary(method, undefined, undefined, undefined, input);
    return message;
  };
  const signer = await signerFromMnemonic(node.mnemonic, { index: 1 });
  const party = signer.publicKey;
  const hashes: string[] = [];
  await own.sendCommand(withdrawal, { signer: await signerFromMnemonic(node.mnemonic, { index: 2 }) });
  for (const command of partyCommands) {
    hashes.push((await own.sendCommand(command, { signer })).txHash);
    const { timestamp } = await client.getVegaTime({});
    // The blocks follow those of the history, so that what is of the last hour is of both.
    node.setTime(new Date(Number(timestamp / 1_000_000n) + 1000).toISOString());
    await node.makeBlock();
  }
  const { orders } = await client.listOrders({ filter: { partyIds: [party] }, pagination: { first: 1 } });
  const { orders: stopOrders } = await client.listStopOrders({ pagination: { first: 1 } });
  const { market } = await client.getMarket({ marketId: openMarket });
  const product = market?.tradableInstrument?.instrument?.product;
  const { timestamp: now } = await client.getVegaTime({});
  const hours = (count: bigint) => String(now + count * 3_600_000_000_000n);
  const deposit = (await client.listDeposits({ pagination: { first: 1 } })).deposits?.edges[0]?.node;
  const found = {
    ...{ MARKET: openMarket, PARTY: party, UNKNOWN: "e".repeat(64), UPPERUNKNOWN: "E".repeat(64) },
    ORDER: orders?.edges[0]?.node?.id,
    STOP: stopOrders?.edges[0]?.node?.stopOrder?.id,
    ASSET: product?.value && "settlementAsset" in product.value ? product.value.settlementAsset : undefined,
    TXHASH: hashes[0],
    UPPERTXHASH: hashes[0]?.toUpperCase(),
    ...{ HOURAGO: hours(-1n), DAYAGO: hours(-24n), TWOYEARSAGO: hours(-17_520n), LATER: hours(1n) },
    DEPOSIT: deposit?.id,
    "PARTY ListDeposits": deposit?.partyId,
    "PARTY GetStake": deposit?.partyId,
    NODE: (await client.listNodes({})).nodes?.edges[0]?.node?.id,
    ORACLESPEC: "d".repeat(64),
  };
  for (const [name, value] of Object.entries(found)) {
    identifiers.set(name, value ?? "");
  }
});
afterAll(() => node.close());

describe("the local node answers as the network did", () => {
  it.each(methods)("%s", async (method) => {
    const ofMethod = cases.filter((each) => each.method.endsWith(`/${method}`));
    const base = ofMethod.find(({ name }) => name.endsWith(", base"))?.request ?? {};
    const different: string[] = [];
    const unimplemented: string[] = [];
    for (const recorded of ofMethod) {
      const answer = await answerTo(method, await filled(method, recorded.request, base));
      if (answer.error?.code === Code.Unimplemented) {
        unimplemented.push(recorded.name); // docs/devnode.md lists these methods.
      } else if (!isEqual(recorded, answer)) {
        different.push(recorded.name);
      }
    }
    expect([0, ofMethod.length]).toContain(unimplemented.length);
    const expected = differences.filter((each) => each.method === method).flatMap((each) => each.cases);
    expect(different.toSorted()).toEqual(
      (expected.includes("all") ? ofMethod.map(({ name }) => name) : expected).toSorted(),
    );
  });
});

function methodOf(name: string): DescMethodUnary {
  const method: DescMethod | undefined = TradingDataService.methods.find((each) => each.name === name);
  if (method === undefined || !isUnary(method)) {
    throw new Error(`there is no method ${name} with one answer`);
  }
  return method;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

/** Put the local node's identifiers, times and cursors into a recorded request. */
async function filled(method: string, request: JsonObject, base: JsonObject): Promise<JsonObject> {
  const text = JSON.stringify(request);
  if (text.includes("$CURSOR") && !identifiers.has(`CURSOR ${method}`)) {
    const page = await answerTo(method, await filled(method, { ...base, pagination: { first: 2 } }, base));
    identifiers.set(`CURSOR ${method}`, page.endCursor ?? "");
  }
  return JSON.parse(
    text.replaceAll(/\$([A-Z]+)/g, (_, name) => identifiers.get(`${name} ${method}`) ?? identifiers.get(name) ?? ""),
  );
}

type Answer = Pick<Case, "answer" | "listed" | "error"> & { readonly endCursor?: string };

async function answerTo(method: string, request: JsonObject): Promise<Answer> {
  try {
    const message = await call(method, request);
    const page = Object.values<unknown>(message).find(isConnection);
    return page === undefined ? { answer: Object(toJson(methodOf(method).output, message)) } : pageOf(page);
  } catch (reason) {
    const error = ConnectError.from(reason);
    const details = error.findDetails(ErrorDetailSchema).map(({ code, message, inner }) => ({ code, message, inner }));
    return { error: { code: error.code, message: error.rawMessage, details } };
  }
}

interface Connection {
  readonly edges: readonly { readonly node: object }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly hasPreviousPage: boolean; readonly endCursor: string };
}

function isConnection(value: unknown): value is Connection {
  return typeof value === "object" && value !== null && "edges" in value;
}

function pageOf({ edges, pageInfo }: Connection): Answer {
  const { hasNextPage, hasPreviousPage, endCursor } = pageInfo;
  const order = Object.fromEntries(
    ["timestamp", "createdAt", "creditedTimestamp", "key", "id", "blockHeight", "start"].flatMap((field) => {
      const values: (string | bigint)[] = edges.map((edge) => Object(edge.node)[field]);
      const ascending = values.every((value, at) => at === 0 || Object(values[at - 1]) <= value);
      const descending = values.every((value, at) => at === 0 || Object(values[at - 1]) >= value);
      return values.every(Boolean) && ascending !== descending ? [[field, ascending ? "ascending" : "descending"]] : [];
    }),
  );
  return { listed: { records: edges.length, hasNextPage, hasPreviousPage, order }, endCursor };
}

/** Whether an answer is the recorded one, but for what the two networks hold. */
function isEqual(recorded: Case, answer: Answer): boolean {
  if (recorded.error !== undefined || answer.error !== undefined) {
    return JSON.stringify(readable(recorded.error)) === JSON.stringify(readable(answer.error));
  }
  if (recorded.listed !== undefined && answer.listed !== undefined) {
    const [wanted, got] = [recorded.listed, answer.listed];
    const isInOrder = Object.entries(wanted.order ?? {}).every(
      // The identifiers of two networks are in no order to each other.
      ([field, order]) => field === "id" || (got.order?.[field] ?? order) === order,
    );
    // How many records come behind a cursor depends on how many there are.
    return isInOrder && (hasCursor(recorded) || (wanted.records === 0) === (got.records === 0));
  }
  return (
    JSON.stringify(Object.keys(recorded.answer ?? {}).toSorted()) ===
    JSON.stringify(Object.keys(answer.answer ?? {}).toSorted())
  );
}

function hasCursor({ request }: Case): boolean {
  return JSON.stringify(request).includes("$CURSOR");
}

/** An error with the names of its identifiers, and without Go's words for what is wrong with the text of a cursor. */
function readable(error: Failure | undefined): unknown {
  const text = JSON.stringify(error) ?? "";
  const named = [...identifiers].reduce(
    (said, [name, value]) => (value.length > 8 ? said.replaceAll(value, `$${name}`) : said),
    text,
  );
  return named.replaceAll(/(parsing cursor: parsing cursor: )[^"]*?(: failed to get assets)?"/g, '$1…$2"');
}
