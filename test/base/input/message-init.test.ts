import { create, type DescMethodUnary, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, jsonReplacer, RequestError, signerFromMnemonic } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { compile, serviceOf, unaryMethod } from "../../support/definitions.js";

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

it.each<[string, () => unknown]>([
  ['unknown option "signl" in options\nDid you mean signal?', () => client.listSegments({ signl: 1 })],
  ['unknown option "tiemoutMs" in options\nDid you mean timeoutMs?', () => client.lastBlockHeight({ tiemoutMs: 1 })],
  ['unknown option "headrs" in options\nDid you mean headers?', () => client.stopOrder(ID, { headrs: {} })],
  ['unknown option "pagSize" in options\nDid you mean pageSize?', () => client.networkParameters({ pagSize: 1 })],
  ['unknown option "statuses" in options\nValid options: ', () => client.stopOrders({}, { statuses: ["PENDING"] })],
  ['unknown field "statusses" in filter\nDid you mean statuses?', () => client.stopOrders({ statusses: [] })],
  [
    'unknown field "start" in dateRange\nDid you mean startTimestamp?',
    () => client.listStopOrders({ filter: { dateRange: { start: 1n } } }),
  ],
  [
    'unknown field "frist" in pagination\nDid you mean first?',
    () => client.listStopOrders({ pagination: { frist: 1 } }),
  ],
  ['unknown field "tabel" in request\nDid you mean table?', () => client.exportNetworkHistory({ tabel: "trades" })],
  ['unknown field "party" in request\nDid you mean partyId?', () => client.exportLedgerEntries({ party: ID })],
  ['unknown field "tpyes" in request\nDid you mean types?', () => client.events({ tpyes: ["order"] })],
  ['unknown option "singer" in options\nDid you mean signer?', () => order({}, { singer: 1 })],
  ['unknown field "marktId" in orderSubmission\nDid you mean marketId?', () => order({ marktId: ID })],
  [
    'unknown field "peekSize" in orderSubmission.icebergOpts\nDid you mean peakSize?',
    () => order({ icebergOpts: { peekSize: 1 } }),
  ],
  [
    'unknown field "ordrSubmission" in command\nDid you mean orderSubmission?',
    () => client.signCommand({ case: "ordrSubmission", value: {} }, { signer }),
  ],
  [
    'field "pubKey" of tx belongs to the oneof from\nWrite from: { case: "pubKey", value }.',
    () => client.checkTransaction({ pubKey: ID }),
  ],
  ['unknown field "filtr" in request\nDid you mean filter?', () => service["listOrders"]?.({ filtr: {} })],
  [
    'unknown field "partyId" in filter\nDid you mean partyIds?',
    () => service["listOrders"]?.({ filter: { partyId: ID } }),
  ],
  ['unknown option "onHeadr" in options\nDid you mean onHeader?', () => service["listOrders"]?.({}, { onHeadr: 1 })],
  ['unknown field "marketId" in request\nDid you mean marketIds?', () => service["observeTrades"]?.({ marketId: ID })],
  [
    'unknown field "partyId" in filter\nDid you mean partyIds?',
    () => client.records(TradingDataService.method.listOrders, { filter: { partyId: ID } }),
  ],
])("a misspelt name is refused: %s", async (message, run) => {
  const failure = await failureOf(run);
  expect(failure).toBeInstanceOf(RequestError);
  expect(failure).toHaveProperty("message", expect.stringContaining(message));
});

it.each<[string, () => unknown]>([
  [
    'fromBlock must be a whole number, such as 1 (got "1")',
    () => client.exportNetworkHistory({ table: "trades", fromBlock: "1", toBlock: 10 }),
  ],
  [
    'pagination.first must be a whole number, such as 3 (got "3")',
    () => service["listOrders"]?.({ pagination: { first: "3" } }),
  ],
  ['filter.partyIds must be an array (got "x")', () => service["listOrders"]?.({ filter: { partyIds: "x" } })],
  [
    'filter.partyIds[1] must be a string, such as "5" (got 5)',
    () => service["listOrders"]?.({ filter: { partyIds: [ID, 5] } }),
  ],
  ["filter must be an object (got an array)", () => service["listOrders"]?.({ filter: [] })],
  ["request must be an object (got a string)", () => service["listOrders"]?.("x")],
  ['orderSubmission.side must be a value of vega.Side (got "BYU")\nDid you mean BUY?', () => order({ side: "BYU" })],
  ['orderSubmission.size must be a whole number, such as 5n (got "5")', () => order({ size: "5" })],
  ["orderSubmission.size must be a whole number from 0 to 18446744073709551615 (got -1)", () => order({ size: -1 })],
  ['orderSubmission.price must be a string, such as "100" (got 100)', () => order({ price: 100 })],
  ['orderSubmission.postOnly must be true or false (got "true")', () => order({ postOnly: "true" })],
  ['timeoutMs must be a number of milliseconds (got "100")', () => client.lastBlockHeight({ timeoutMs: "100" })],
  [
    "headers.authorization must be a string (got undefined)",
    () => client.lastBlockHeight({ headers: { authorization: undefined } }),
  ],
  ["signer must be an awaited signer (got a Promise)\nAwait it", () => order({}, { signer: Promise.resolve(signer) })],
  ["service must be a service descriptor, such as ", () => client.service(undefined)],
  ["method must be a method descriptor, such as ", () => client.pages(undefined)],
])("a value of the wrong kind is refused: %s", async (message, run) => {
  const failure = await failureOf(run);
  expect(failure).toBeInstanceOf(RequestError);
  expect(failure).toHaveProperty("message", expect.stringContaining(message));
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

describe("requests of other definitions", () => {
  const PRESS = `
syntax = "proto3";
package press.v1;

service PressService {
  rpc UpdateJob(Job) returns (Job);
}
enum State {
  STATE_UNSPECIFIED = 0;
  STATE_ACTIVE = 1;
  STATE_DONE = 2;
}
message Job {
  string name = 1;
  State state = 2;
  int64 copies = 3;
  map<int64, State> page_states = 4;
  oneof target {
    State state_target = 5;
    Job job = 6;
  }
  repeated Job parts = 7;
  map<string, Job> parts_by_name = 8;
  Job next = 9;
  optional State wanted = 10;
}
`;
  const newer = [{ no: 99, wireType: 2, data: Uint8Array.of(1, 120) }];

  let updateJob: DescMethodUnary;
  beforeAll(async () => {
    updateJob = unaryMethod(serviceOf(await compile({ "press.proto": PRESS }), "press.v1.PressService"), "UpdateJob");
  });

  /** Updates a job, which the server sends back. */
  async function update(request: object) {
    const { input } = updateJob;
    const transport = createRouterTransport(({ rpc }) => rpc(updateJob, (job) => job));
    await using press = createClient({ transport: { name: "press", transport } });
    const message = await Object(press.service(updateJob.parent)).updateJob(request);
    const job = fromBinary(input, toBinary(input, message));
    return { message, job, json: toJson(input, job), input };
  }

  it("accept names of enum values in any case, in a map and a oneof, and numbers for 64-bit integers", async () => {
    const request = {
      state: "done",
      pageStates: { 5: "ACTIVE", 7: "State_Done" },
      target: { case: "stateTarget", value: "ACTIVE" },
      copies: 5,
      parts: undefined,
    };
    expect((await update(request)).json).toEqual({
      state: "STATE_DONE",
      pageStates: { 5: "STATE_ACTIVE", 7: "STATE_DONE" },
      stateTarget: "STATE_ACTIVE",
      copies: "5",
    });
  });

  it("accept a copy of a message with other values, and keep the fields that only a newer server knows", async () => {
    const { message, input } = await update({ name: "a", state: 1, next: { name: "b" }, parts: [{ name: "c" }] });
    message.$unknown = newer;
    message.next.$unknown = newer;
    const { name: _, ...changed } = message;
    const { job, json } = await update({
      ...changed,
      state: "DONE",
      copies: undefined,
      wanted: "ACTIVE",
      next: { ...message.next, state: "ACTIVE" },
      parts: [...message.parts, { state: "ACTIVE" }],
      partsByName: { d: { state: "ACTIVE" } },
      target: { case: "job", value: { ...message.parts[0], state: "DONE" } },
    });
    expect(json).toEqual({
      state: "STATE_DONE",
      wanted: "STATE_ACTIVE",
      next: { name: "b", state: "STATE_ACTIVE" },
      parts: [{ name: "c" }, { state: "STATE_ACTIVE" }],
      partsByName: { d: { state: "STATE_ACTIVE" } },
      job: { name: "c", state: "STATE_DONE" },
    });
    expect([job.$unknown, Object(job)["next"].$unknown]).toEqual([newer, newer]);
    expect(create(input, message)).toBe(message);
  });

  it("accept a message as it is", async () => {
    const { message } = await update({ name: "a", wanted: 0, target: { case: "stateTarget", value: 0 }, next: {} });
    message.$unknown = newer;
    expect((await update(message)).message).toEqual(message);
  });

  it("refuse a misspelt field in a copy of a message", async () => {
    const { message } = await update({});
    await expect(update({ ...message, stat: "DONE" })).rejects.toThrow('unknown field "stat" in request');
    await expect(update({ ...message, state: "DON" })).rejects.toThrow("state must be a value of press.v1.State");
  });
});

describe("JSON.stringify", () => {
  let typed: Client;
  beforeAll(() => {
    typed = createClient({ grpc: { url: node.grpcUrl } });
  });
  afterAll(() => typed.close());

  it("writes records, with enum values by their names and 64-bit integers as text", async () => {
    for await (const record of typed.records(TradingDataService.method.listStopOrders, {}, { limit: 1 })) {
      expect(JSON.parse(JSON.stringify(record))).toMatchObject({
        cursor: record.cursor,
        node: {
          stopOrder: { status: expect.stringMatching(/^STATUS_/), createdAt: String(record.node.stopOrder?.createdAt) },
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
