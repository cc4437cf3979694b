// A client of grpc-go against the local node: what it gets has to be what this library gets.
import assert from "node:assert/strict";
import { join } from "node:path";
import { CoreService, TradingDataService } from "tradewire/api";
import { all, answers, sha256 } from "./compare.mjs";
import { run } from "./processes.mjs";

/** gRPC's numbers of codes. */
const CODES = { CANCELED: 1, DEADLINE_EXCEEDED: 4, RESOURCE_EXHAUSTED: 8, UNIMPLEMENTED: 12 };

const data = TradingDataService.method;
const core = CoreService.method;
const page = { pagination: { first: 20 } };

export function goClientCases({ node, tools, clients }) {
  const { grpc } = clients;
  const call = async (task) =>
    JSON.parse(await run(join(await tools.go(), "interop"), ["client", new URL(node.grpcUrl).host, task]));

  async function reads() {
    const { messages } = await answers(grpc, data.listMarkets, page);
    assert.deepEqual((await call("unary")).messages, messages);
    assert.deepEqual((await call("unary, gzip")).messages, messages);
    assert.deepEqual((await call("core")).messages, (await answers(grpc, core.lastBlockHeight, {})).messages);
  }

  async function exports() {
    const exported = grpc.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 4000 });
    const archive = Buffer.concat(await all(exported.bytes()));
    const { name, ...read } = await call("export");
    assert.deepEqual(read, { bytes: archive.length, sha256: sha256(archive) });
    assert.match(name.join(), /^attachment;filename=tradewire-devnet-trades-116-1-4000\.zip$/);
  }

  async function fails() {
    const invalid = { fromBlock: 2n, toBlock: 7n, table: 6 };
    for (const [task, method, request] of [
      ["not found", data.getStopOrder, { orderId: "0".repeat(64) }],
      ["invalid", data.exportNetworkHistory, invalid],
    ]) {
      const { error } = await answers(grpc, method, request);
      const { code, message, details = [] } = (await call(task)).error;
      const start = `the node answered ${{ 3: "INVALID_ARGUMENT", 5: "NOT_FOUND" }[code]}: ${message}`;
      assert.ok(error.message.startsWith(start), error.message); // The details follow.
      assert.deepEqual(details, error.details);
    }
    assert.equal((await call("unimplemented")).error.code, CODES.UNIMPLEMENTED);
    assert.equal((await call("no such method")).error.code, CODES.UNIMPLEMENTED);
    assert.equal((await call("too large")).error.code, CODES.RESOURCE_EXHAUSTED);
  }

  async function ends() {
    node.failNext({ method: "ListMarkets", with: "stall" });
    assert.equal((await call("deadline")).error.code, CODES.DEADLINE_EXCEEDED);
    assert.equal((await call("deadline of a stream")).error.code, CODES.DEADLINE_EXCEEDED);
    assert.equal((await call("cancel")).error.code, CODES.CANCELED);
  }

  async function observes() {
    const blocks = setInterval(() => node.makeBlock(), 100);
    const { messages } = await call("bus").finally(() => clearInterval(blocks));
    assert.match(messages[0].events[0].id, /^\d+-\d+$/);
    assert.equal(messages[0].events[0].type, "BUS_EVENT_TYPE_END_BLOCK");
  }

  return [
    ["grpc-go client: calls, with gzip too", reads],
    ["grpc-go client: an export", exports],
    ["grpc-go client: errors with details, and a message too large", fails],
    ["grpc-go client: deadlines and cancel", ends],
    ["grpc-go client: the event bus, both ways", observes],
  ];
}
