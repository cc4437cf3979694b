import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, jsonReplacer, RequestError, signerFromMnemonic } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";

const ID = "ab".repeat(32);
const ORDER = { marketId: ID, size: 5, side: "BUY", price: "1", timeInForce: "TIME_IN_FORCE_GTC", type: "LIMIT" };

let node: Devnode;
/** A client as plain JavaScript sees it: whatever is given is passed on. */
let client: { readonly [Method in keyof Client]: (...given: readonly unknown[]) => unknown };
let service: { readonly [method: string]: (...given: readonly unknown[]) => unknown };
let signer: object;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  const made = createClient({ grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
  client = Object.assign(JSON.parse("{}"), made);
  service = Object.assign(JSON.parse("{}"), made.service(TradingDataService));
  signer = await signerFromMnemonic(node.mnemonic);
});
afterAll(async () => {
  await client.close();
  await node.close();
});

async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (reason) {
    return reason;
  }
  throw new Error("nothing was thrown");
}

const order = (more: object, options: object = {}) =>
  client.signCommand({ case: "orderSubmission", value: { ...ORDER, ...more } }, { signer, ...options });

it.each<[string, string, () => unknown]>([
  ['the options have "signl", which they do not know', "Did you mean signal?", () => client.listSegments({ signl: 1 })],
  ['the options have "tiemoutMs"', "Did you mean timeoutMs?", () => client.lastBlockHeight({ tiemoutMs: 1 })],
  ['the options have "headrs"', "Did you mean headers?", () => client.stopOrder(ID, { headrs: {} })],
  ['the options have "pagSize"', "Did you mean pageSize?", () => client.networkParameters({ pagSize: 1 })],
  ['the options have "statuses"', "There are ", () => client.stopOrders({ statuses: ["PENDING"] })],
  ['filter has "statusses"', "Did you mean statuses?", () => client.stopOrders({ filter: { statusses: [] } })],
  [
    'dateRange has "start"',
    "Did you mean startTimestamp?",
    () => client.stopOrders({ filter: { dateRange: { start: 1n } } }),
  ],
  ['pagination has "frist"', "Did you mean first?", () => client.listStopOrders({ pagination: { frist: 1 } })],
  ['the request has "tabel"', "Did you mean table?", () => client.exportNetworkHistory({ tabel: "trades" })],
  ['the request has "party"', "Did you mean partyId?", () => client.exportLedgerEntries({ party: ID })],
  ['the request has "tpyes"', "Did you mean types?", () => client.events({ tpyes: ["order"] })],
  ['the options have "singer"', "Did you mean signer?", () => order({}, { singer: 1 })],
  ['orderSubmission has "marktId"', "Did you mean marketId?", () => order({ marktId: ID })],
  [
    'orderSubmission.icebergOpts has "peekSize"',
    "Did you mean peakSize?",
    () => order({ icebergOpts: { peekSize: 1 } }),
  ],
  [
    'command has "ordrSubmission"',
    "Did you mean orderSubmission?",
    () => client.signCommand({ case: "ordrSubmission", value: {} }, { signer }),
  ],
  [
    'tx has "pubKey", which is one of a choice, from',
    'from: { case: "pubKey", value }',
    () => client.checkTransaction({ pubKey: ID }),
  ],
  ['the request has "filtr"', "Did you mean filter?", () => service["listOrders"]?.({ filtr: {} })],
  ['filter has "partyId"', "Did you mean partyIds?", () => service["listOrders"]?.({ filter: { partyId: ID } })],
  ['the options have "onHeadr"', "Did you mean onHeader?", () => service["listOrders"]?.({}, { onHeadr: 1 })],
  ['the request has "marketId"', "Did you mean marketIds?", () => service["observeTrades"]?.({ marketId: ID })],
  [
    'filter has "partyId"',
    "Did you mean partyIds?",
    () => client.records(TradingDataService.method.listOrders, { filter: { partyId: ID } }),
  ],
])("a misspelt name is refused: %s", async (summary, advice, run) => {
  const failure = await failureOf(run);
  expect(failure).toBeInstanceOf(RequestError);
  expect(failure).toMatchObject({ summary: expect.stringContaining(summary), advice: expect.stringContaining(advice) });
});

it.each<[string, string, () => unknown]>([
  [
    'fromBlock is the text "1"',
    "Give a whole number, 1.",
    () => client.exportNetworkHistory({ table: "trades", fromBlock: "1", toBlock: 10 }),
  ],
  [
    'pagination.first is the text "3"',
    "Give a whole number, 3.",
    () => service["listOrders"]?.({ pagination: { first: "3" } }),
  ],
  ['filter.partyIds is the text "x"', "Give a list.", () => service["listOrders"]?.({ filter: { partyIds: "x" } })],
  [
    "filter.partyIds[1] is the number 5",
    'Give a text, "5".',
    () => service["listOrders"]?.({ filter: { partyIds: [ID, 5] } }),
  ],
  ["filter is a list", "Give an object.", () => service["listOrders"]?.({ filter: [] })],
  ["the request is a text", "Give an object.", () => service["listOrders"]?.("x")],
  ['orderSubmission.side is "BYU", which is no value of vega.Side', "Did you mean BUY?", () => order({ side: "BYU" })],
  ['orderSubmission.size is the text "5"', "Give a whole number, 5n.", () => order({ size: "5" })],
  ["orderSubmission.size is the number -1", "from 0 to 18446744073709551615", () => order({ size: -1 })],
  ["orderSubmission.price is the number 100", 'Give a text, "100".', () => order({ price: 100 })],
  ['orderSubmission.postOnly is the text "true"', "Give true or false.", () => order({ postOnly: "true" })],
  ['timeoutMs is the text "100"', "Give a number of milliseconds.", () => client.lastBlockHeight({ timeoutMs: "100" })],
  [
    "headers.authorization is undefined",
    "Give a text",
    () => client.lastBlockHeight({ headers: { authorization: undefined } }),
  ],
  ["signer is an object", "Await it", () => order({}, { signer: Promise.resolve(signer) })],
  ["the descriptor of the service is undefined", "Give one such as", () => client.service(undefined)],
  ["the descriptor of the method is undefined", "Give one such as", () => client.pages(undefined)],
])("a value of the wrong kind is refused: %s", async (summary, advice, run) => {
  const failure = await failureOf(run);
  expect(failure).toBeInstanceOf(RequestError);
  expect(failure).toMatchObject({ summary: expect.stringContaining(summary), advice: expect.stringContaining(advice) });
});

describe("names of enum values", () => {
  it("stand for them in commands, with and without their prefix, and whole numbers for 64-bit integers", async () => {
    const options = { chainId: node.chainId };
    const names = await order({}, { ...options, nonce: 1n, tid: "a" });
    const numbers = { side: 1, timeInForce: 1, type: 1, size: 5n };
    expect(await order(numbers, { ...options, nonce: 1n, tid: "a" })).toMatchObject({
      inputData: Object(names).inputData,
    });
  });

  it("stand for them in the requests of any method", async () => {
    const named = await service["listOrders"]?.({ filter: { statuses: ["ACTIVE"] }, pagination: { first: 3 } });
    const numbered = await service["listOrders"]?.({ filter: { statuses: [1] }, pagination: { first: 3 } });
    expect(named).toEqual(numbered);
    expect(Object(named).orders.edges).toHaveLength(3);
  });
});

describe("JSON.stringify", () => {
  let typed: Client;
  beforeAll(() => {
    typed = createClient({ grpc: { url: node.grpcUrl } });
  });
  afterAll(() => typed.close());

  it("writes records, with enum values by their names and 64-bit integers as text", async () => {
    for await (const record of typed.stopOrders({ filter: { statuses: ["PENDING"] }, limit: 1 })) {
      expect(JSON.parse(JSON.stringify(record))).toMatchObject({
        cursor: record.cursor,
        node: {
          stopOrder: { status: "STATUS_PENDING", createdAt: String(record.node.stopOrder.createdAt) },
          submission: { size: String(record.node.submission?.size) },
        },
      });
      expect(Object.keys(record)).toEqual(["cursor", "node"]);
    }
  });

  it("writes pages", async () => {
    const page = await typed.listStopOrders({ pagination: { first: 1 } });
    const [edge] = page.orders?.edges ?? [];
    const written = {
      orders: { edges: [{ cursor: edge?.cursor, node: { stopOrder: { id: edge?.node?.stopOrder?.id } } }] },
    };
    expect(JSON.parse(JSON.stringify(page))).toMatchObject(written);
    const { listStopOrders } = TradingDataService.method;
    for await (const each of typed.pages(listStopOrders, {}, { pageSize: 1 })) {
      expect(JSON.parse(JSON.stringify(each))).toMatchObject(written);
      break;
    }
    expect(JSON.parse(JSON.stringify(await typed.listNetworkParameters()))).toHaveProperty("networkParameters.edges");
  });

  it("writes all else with the replacer", () => {
    const value = {
      block: 2n ** 63n,
      bytes: new Uint8Array([1, 2]),
      buffer: Buffer.from([1, 2]),
      text: "x",
      none: null,
    };
    const written = { block: "9223372036854775808", bytes: "AQI=", buffer: "AQI=", text: "x", none: null };
    expect(JSON.parse(JSON.stringify([value], jsonReplacer))).toEqual([written]);
  });
});
