import { setImmediate as turn } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { RequestError } from "tradewire";
import { quiet, type ResultsAnswer, startObserving, take, untilFailure } from "../../support/event-server.js";
import { eventually } from "../../support/eventually.js";

const [party, hash] = ["a1".repeat(32), "B2".repeat(32)];
const nothing = ({ signal }: { readonly signal: AbortSignal }) => quiet(signal);

/** Results of which each connection gives some and is then lost; the last one stays. */
const inTurn = (...connections: string[][]): ResultsAnswer =>
  async function* (_, signal, before) {
    for (const hash of connections[before] ?? []) {
      yield [{ hash, status: true }];
    }
    if (before >= connections.length - 1) {
      yield* quiet(signal);
    }
  };

const inShort = (items: readonly ({ hash: string } | { gap: object })[]) =>
  items.map((item) => ("gap" in item ? item.gap : item.hash));

describe.each(["grpc", "rest"] as const)("the results of transactions, over %s", (transport) => {
  const start = (results: ResultsAnswer) => startObserving(nothing, { transport }, { results });

  test("come as they are, those that were asked for", async () => {
    const asked: unknown[] = [];
    await using node = await start(async function* (request, signal) {
      asked.push(request);
      yield [{ hash: "01" }, { hash: "02", extra: { case: "failure", value: { error: "no margin" } } }];
      yield* quiet(signal);
    });
    const results = await take(2, node.client.transactionResults({ partyIds: [party], hashes: [hash], status: false }));
    expect(results).toMatchObject([{ hash: "01" }, { extra: { case: "failure", value: { error: "no margin" } } }]);
    // Nodes differ in how they write hashes, and compare them letter by letter.
    expect(asked).toMatchObject([{ partyIds: [party], hashes: [hash, hash.toLowerCase()], status: false }]);
    await eventually(() => node.server.resultSignals[0]?.aborted === true);
  });

  test("have a gap of no blocks where the connection was lost", async () => {
    await using node = await start(inTurn(["01"], [], ["02", "03"]));
    const items = await take(4, node.client.transactionResults({}, { reconnect: true }));
    expect(inShort(items)).toEqual(["01", { afterBlock: undefined, beforeBlock: undefined }, "02", "03"]);
    expect(node.server.resultSignals).toHaveLength(3);
  });

  test("are lost with an error that says so, also where none had come", async () => {
    await using node = await start(inTurn([], ["01"]));
    const { taken, error } = await untilFailure(node.client.transactionResults());
    expect(taken).toEqual([]);
    expect(error).toMatchObject({
      name: "ConnectionError",
      connected: true,
      summary: "the stream of results was lost: the node ended it without an error; results may be missing",
    });
    expect(node.server.resultSignals).toHaveLength(1); // It was not opened again unseen.
  });

  test("fail at once where the node refuses", async () => {
    await using node = await start(async function* () {
      yield* [];
      throw new ConnectError("no such hash", Code.InvalidArgument);
    });
    const { error } = await untilFailure(node.client.transactionResults({}, { reconnect: true }));
    expect(error).toMatchObject({ name: "NodeError", code: Code.InvalidArgument, transport });
    expect(node.server.resultSignals).toHaveLength(1);
  });
});

test("a stream of results that is lost before the first is not opened again unseen, over one transport or another", async () => {
  const failing: ResultsAnswer = async function* (_, signal) {
    await turn();
    yield* [];
    throw new ConnectError("restarting", signal.aborted ? Code.Canceled : Code.Unavailable);
  };
  await using node = await startObserving(nothing, { transport: "auto" }, { results: failing });
  const { error } = await untilFailure(node.client.transactionResults());
  expect(error).toMatchObject({ summary: expect.stringContaining("the node answered UNAVAILABLE: restarting") });
  expect(node.server.resultSignals).toHaveLength(1);
});

test.each([
  [{ partyIds: ["x"] }, 'partyIds[0] must be 64 hex digits (got "x")'],
  [{ hashes: [hash, ""] }, 'hashes[1] must be 64 hex digits (got "")'],
  [{ status: "yes" }, 'status must be true for executed transactions, or false for failed ones (got "yes")'],
])("the results of %j are not asked for", async (request, summary) => {
  await using node = await startObserving(nothing);
  const ask = () => Reflect.apply(node.client.transactionResults, undefined, [request]);
  expect(ask).toThrow(RequestError);
  expect(ask).toThrow(expect.objectContaining({ summary }));
});
