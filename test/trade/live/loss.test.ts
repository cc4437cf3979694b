import { getEventListeners } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { CanceledError, ConnectionError, NodeError, type RetryInfo } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import {
  type BusAnswer,
  eventOf,
  inShort,
  quiet,
  startObserving,
  streamingService,
  take,
  untilFailure,
} from "../../support/event-server.js";
import { eventually } from "../../support/eventually.js";
import { freePort } from "../../support/free-port.mjs";
import { serveRoutes } from "../../support/servers.js";

/** What is thrown for an answer that breaks off after two blocks. */
const breakingOff = (reason?: ConnectError): BusAnswer =>
  async function* () {
    yield [eventOf("7-1"), eventOf("8-1")];
    if (reason !== undefined) {
      throw reason;
    }
  };

const begin = (block: number) => eventOf(`${block}-1`, { event: { case: "beginBlock", value: {} } });
const end = (block: number) => eventOf(`${block}-9`, { event: { case: "endBlock", value: {} } });

/** A node that gives each list over a connection of its own, and is quiet after the last. */
const inTurn = (...connections: string[][]): BusAnswer =>
  async function* ({ signal }, before) {
    for (const id of connections[before] ?? []) {
      const block = Number.parseInt(id, 10);
      yield [id.endsWith("begin") ? begin(block) : id.endsWith("end") ? end(block) : eventOf(id)];
    }
    if (before >= connections.length - 1) {
      yield* quiet(signal);
    }
  };

describe("a loss, without reconnect", () => {
  test.each([
    ["an end without an error", undefined, "the node ended it without an error", Code.Unavailable],
    ["an error", new ConnectError("too slow", Code.Internal), "the node answered INTERNAL: too slow", Code.Internal],
    [
      "a full node",
      new ConnectError("no more", Code.ResourceExhausted),
      "the node answered RESOURCE_EXHAUSTED: no more",
      Code.ResourceExhausted,
    ],
  ])("by %s is a ConnectionError that says what may be missing", async (_, reason, words, code) => {
    await using node = await startObserving(breakingOff(reason));
    const { taken, error } = await untilFailure(node.client.events());
    expect(inShort(taken)).toEqual(["7-1", "8-1"]);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      code,
      connected: true,
      summary: `the stream of events was lost: ${words}; events after block 7 may be missing`,
      transport: "grpc",
      method: "datanode.api.v2.TradingDataService/ObserveEventBus",
    });
    expect(node.server.calls).toHaveLength(1);
  });

  test("by a cut does not take the block as whole, though its end has come", async () => {
    await using node = await startObserving(inTurn(["7-1", "7-end"]));
    const events = node.client.events()[Symbol.asyncIterator]();
    await events.next();
    await events.next();
    await node.server.close();
    const error = await events.next().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      connected: true,
      summary: expect.stringMatching(/; events after block 6 may be missing$/),
    });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test("is none where the node cannot be reached at all", async () => {
    const port = await freePort();
    await using node = await startObserving(quietly, { grpc: { url: `http://127.0.0.1:${port}` } });
    const { error } = await untilFailure(node.client.events());
    expect(error).toMatchObject({ connected: false, summary: expect.stringContaining("the connection was refused") });
  });
});

const quietly: BusAnswer = ({ signal }) => quiet(signal);

describe("a loss, with reconnect", () => {
  test.each<[string, string[][], unknown[]]>([
    ["one block between", [["7-1", "8-1"], ["9-1"]], ["7-1", "8-1", { afterBlock: 7n, beforeBlock: 10n }, "9-1"]],
    ["the block's end", [["7-1", "7-end"], ["9-1"]], ["7-1", "7-9", { afterBlock: 6n, beforeBlock: 10n }, "9-1"]],
    ["the next begin", [["7-1"], ["9-begin"]], ["7-1", { afterBlock: 6n, beforeBlock: 10n }, "9-1"]],
    ["the edges alone", [["7-end"], ["8-begin"]], ["7-9", { afterBlock: 6n, beforeBlock: 9n }, "8-1"]],
    ["nothing known before", [[], ["9-1"]], [{ afterBlock: undefined, beforeBlock: 10n }, "9-1"]],
    ["several losses", [["7-1"], [], [], ["9-1"]], ["7-1", { afterBlock: 6n, beforeBlock: 10n }, "9-1"]],
    [
      "repeated events",
      [
        ["7-1", "8-1", "8-2"],
        ["8-1", "8-2", "8-3"],
      ],
      ["7-1", "8-1", "8-2", { afterBlock: 7n, beforeBlock: 9n }, "8-3"],
    ],
    [
      "a node that is behind",
      [
        ["7-1", "8-1"],
        ["6-1", "7-1", "8-1", "8-2"],
      ],
      ["7-1", "8-1", { afterBlock: 7n, beforeBlock: 9n }, "6-1", "8-2"],
    ],
    [
      "a node that is behind all that came",
      [["9-1"], ["7-1", "8-1", "8-2", "9-1", "9-2"]],
      ["9-1", { afterBlock: 8n, beforeBlock: 10n }, "7-1", "8-1", "8-2", "9-2"],
    ],
    [
      "a node that is behind, and lost again",
      [["9-1"], ["7-1"], ["9-1", "9-2"]],
      ["9-1", { afterBlock: 8n, beforeBlock: 10n }, "7-1", { afterBlock: 6n, beforeBlock: 10n }, "9-2"],
    ],
    [
      "repeated events of each connection",
      [["7-1"], ["7-1", "9-1"], ["7-1", "9-1", "9-2"]],
      ["7-1", { afterBlock: 6n, beforeBlock: 8n }, "9-1", { afterBlock: 8n, beforeBlock: 10n }, "9-2"],
    ],
  ])("hands out the gap: %s", async (_, connections, expected) => {
    await using node = await startObserving(inTurn(...connections));
    expect(inShort(await take(expected.length, node.client.events({}, { reconnect: true })))).toEqual(expected);
    expect(node.server.calls).toHaveLength(connections.length);
  });

  test("is told to hooks, and the waits grow until something comes", async () => {
    const retries: RetryInfo[] = [];
    const lost: BusAnswer = async function* ({ signal }, before) {
      if (before === 3) {
        yield [eventOf("7-1")];
      } else if (before === 5) {
        yield [eventOf("8-1")];
        yield* quiet(signal);
      }
      throw new ConnectError("not now", Code.Unavailable);
    };
    const hooks = { onRetry: (retry: RetryInfo) => retries.push(retry) };
    await using node = await startObserving(lost, { retry: { baseMs: 1, maxMs: 60_000 } }, { hooks });
    await take(3, node.client.events({}, { reconnect: true }));
    expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1, 2]);
    expect(retries[0]).toMatchObject({
      method: "datanode.api.v2.TradingDataService/ObserveEventBus",
      error: expect.objectContaining({ summary: "the node answered UNAVAILABLE: not now" }),
    });
    expect(new Set(retries.map(({ id }) => id)).size).toBe(5); // Each is a call of its own.
    expect(retries.every(({ delayMs, attempt }) => delayMs <= 2 ** (attempt - 1))).toBe(true);
  });

  test.each([Code.InvalidArgument, Code.Unimplemented, Code.Unauthenticated, Code.PermissionDenied])(
    "is none where trying again cannot mend it (%s)",
    async (code) => {
      await using node = await startObserving(async function* (_, before) {
        if (before === 0) {
          yield [eventOf("7-1")];
        }
        throw new ConnectError("no", before === 0 ? Code.Unavailable : code);
      });
      const { taken, error } = await untilFailure(node.client.events({}, { reconnect: true }));
      expect(inShort(taken)).toEqual(["7-1"]);
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({ code });
      expect(node.server.calls).toHaveLength(2);
    },
  );

  test("of a node whose chain has begun anew is told, not hidden as repeated events", async () => {
    await using node = await startObserving(async function* (_, before) {
      yield before === 0 ? [eventOf("7-1"), eventOf("8-1")] : [eventOf("7-1", { block: "another" })];
    });
    const { error } = await untilFailure(node.client.events({}, { reconnect: true }));
    expect(error).toMatchObject({
      name: "ProtocolError",
      summary: expect.stringContaining("event 7-1 has another hash of block 7"),
    });
  });

  test.each([
    ["event 8-1 precedes event 9-1, but did not arrive before it", ["7-1", "9-1"], "8-1"],
    [
      "event 3-1 arrived after event 1010-1 and is too old to check for duplicates",
      Array.from({ length: 1005 }, (_, index) => `${index + 6}-1`),
      "3-1",
    ],
  ])(
    "of a node whose chain has begun anew is told, also by blocks of which nothing came: %s",
    async (words, ids, next) => {
      await using node = await startObserving(async function* (_, before) {
        yield before === 0 ? ids.map((id) => eventOf(id)) : [eventOf(next)];
      });
      const { taken, error } = await untilFailure(node.client.events({}, { reconnect: true }));
      expect(inShort(taken)).toEqual(ids);
      expect(error).toMatchObject({ name: "ProtocolError", summary: expect.stringContaining(words) });
    },
  );

  test("comes back when the node does", async () => {
    await using first = await startObserving(inTurn(["7-1", "7-end"]));
    const { port } = new URL(first.server.grpcUrl);
    const events = first.client.events({}, { reconnect: true })[Symbol.asyncIterator]();
    const came = [(await events.next()).value, (await events.next()).value];
    await first.server.close();
    const next = events.next();
    const { service, calls } = streamingService(inTurn(["9-begin"]));
    const second = await serveRoutes((router) => router.service(TradingDataService, service), Number(port));
    came.push((await next).value, (await events.next()).value);
    await events.return?.();
    expect(inShort(came.flatMap((item) => item ?? []))).toEqual([
      "7-1",
      "7-9",
      { afterBlock: 6n, beforeBlock: 10n },
      "9-1",
    ]);
    expect(calls).toHaveLength(1);
    await second.close();
  });

  test("ends with the client", async () => {
    await using node = await startObserving(quietly);
    const failed = untilFailure(node.client.events({}, { reconnect: true }));
    await eventually(() => node.server.calls.length === 1);
    await node.client.close();
    const { error } = await failed;
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ code: Code.Canceled, summary: "the client was closed during the call" });
  });
});

describe("leaving", () => {
  test("by a break ends the call, and leaves nothing at the signal", async () => {
    await using node = await startObserving(inTurn(["7-1"]));
    const { signal } = new AbortController();
    for await (const _ of node.client.events({}, { signal })) {
      expect(getEventListeners(signal, "abort")).toHaveLength(1);
      break;
    }
    await eventually(() => node.server.calls[0]?.signal.aborted === true);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("by the signal ends the call, also while it waits to come back", async () => {
    const lost: BusAnswer = async function* ({ signal }, before) {
      if (before === 0) {
        yield [eventOf("7-1")];
        yield* quiet(signal);
      }
    };
    await using node = await startObserving(lost);
    const abort = new AbortController();
    const { error } = await untilFailure(
      (async function* () {
        for await (const event of node.client.events({}, { signal: abort.signal, reconnect: true })) {
          yield event;
          setImmediate(() => abort.abort("enough"));
        }
      })(),
    );
    expect(error).toBeInstanceOf(CanceledError);
    expect(error).toMatchObject({ cause: "enough", method: "datanode.api.v2.TradingDataService/ObserveEventBus" });
    await eventually(() => node.server.calls[0]?.signal.aborted === true);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);

    const gone = await freePort();
    const away = { grpc: { url: `http://127.0.0.1:${gone}` }, retry: { baseMs: 1_000_000, maxMs: 1_000_000 } };
    const waiting = new AbortController();
    const hooks = { onRetry: () => setImmediate(() => waiting.abort()) };
    await using absent = await startObserving(lost, away, { hooks });
    const options = { signal: waiting.signal, reconnect: true };
    expect((await untilFailure(absent.client.events({}, options))).error).toBeInstanceOf(CanceledError);
    expect(getEventListeners(waiting.signal, "abort")).toHaveLength(0);
  });

  test("before anything is asked for sends nothing", async () => {
    await using node = await startObserving(quietly);
    const { error } = await untilFailure(node.client.events({}, { signal: AbortSignal.abort() }));
    expect(error).toBeInstanceOf(CanceledError);
    const events = node.client.events()[Symbol.asyncIterator]();
    expect(await events.return?.()).toEqual({ done: true, value: undefined });
    expect(await events.next()).toEqual({ done: true, value: undefined });
    expect(node.server.calls).toEqual([]);
  });

  test("while an event is waited for does not wait for it", async () => {
    await using node = await startObserving(quietly);
    const events = node.client.events()[Symbol.asyncIterator]();
    const next = events.next();
    await eventually(() => node.server.calls.length === 1);
    await events.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    await eventually(() => node.server.calls[0]?.signal.aborted === true);
  });
});
