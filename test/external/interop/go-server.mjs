// The gRPC transports against servers of grpc-go, with answers that are known.
import assert from "node:assert/strict";
import { join } from "node:path";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createClient } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { all, answers, outcome } from "./compare.mjs";
import { start } from "./processes.mjs";
import { once } from "./tools.mjs";

/** What the server is made with. */
const LARGE_BYTES = 3 << 20;
const TRADES = 1000;
const WIDEST_BYTES = 1 << 16;
/** How long is called where connections age, in milliseconds, and how many calls are under way at once. */
const CALLING_MS = 2000;
const AT_ONCE = 8;

const data = TradingDataService.method;

const FAILURE = {
  name: "NodeError",
  code: "FAILED_PRECONDITION",
  message: "the node answered FAILED_PRECONDITION: 100 % of »nothing« is there: märkte: none",
};
const DETAILS = [
  { "@type": "type.googleapis.com/vega.ErrorDetail", code: 10001, message: "märkte", inner: "none" },
  // The client has no definition of it.
  { "@type": "type.googleapis.com/google.rpc.ErrorInfo", value: "ChJVTktOT1dOX1RPX0NMSUVOVFMSB2ludGVyb3A=" },
];

export function goServerCases({ folder, tools, onEnd }) {
  const servers = once(async () => {
    const { said, stop } = await start(join(await tools.go(), "interop"), ["server"]);
    onEnd(stop);
    return said;
  });

  const cases = (transport) => {
    /** Call a server, and leave it. */
    const calling = async (name, work, { limits, keepaliveMs, tries = 1 } = {}) => {
      const grpc = { url: (await servers())[name], ...(keepaliveMs === undefined ? {} : { keepaliveMs }) };
      const client = createClient({ transport, grpc, retry: { tries }, ...(limits && { limits }) });
      return work(client).finally(() => client.close());
    };
    const stopOrder = (client, orderId, options) => answers(client, data.getStopOrder, { orderId }, options);
    const idOf = async (call) => (await call).messages[0]?.order.stopOrder.id;

    const failing = () =>
      calling("plain", async (client) => {
        for (const id of ["details", "header, then details"]) {
          const { error } = await stopOrder(client, id);
          assert.deepEqual(error, { ...FAILURE, details: DETAILS });
        }
        const { error } = await answers(client, data.listMarkets, {});
        assert.equal(error.code, "UNIMPLEMENTED");
      });

    const exporting = () =>
      calling("plain", async (client) => {
        const exported = (fromBlock) =>
          client.exportNetworkHistory({ table: "trades", fromBlock, toBlock: fromBlock + 999 });
        const saved = await exported(1).saveTo(join(folder, `go-server-${transport}/`));
        assert.ok(saved.path.endsWith("/interop-trades-1-1000.zip"));
        const rows = await all(exported(1).rows());
        assert.match(rows.at(-1).id, /^\\x[0-9a-f]{32}$/);
        for (const fromBlock of [1001, 2001, 3001]) {
          const { error } = await outcome(() => exported(fromBlock).saveTo(join(folder, "never.zip")));
          assert.deepEqual({ ...error, message: FAILURE.message }, { ...FAILURE, details: DETAILS });
        }
      });

    const streaming = () =>
      calling("plain", async (client) => {
        const { messages, error } = await answers(client, data.observeTrades, {});
        assert.equal(error, undefined);
        assert.equal(messages.length, TRADES);
        assert.deepEqual(messages.at(-1).trades, [{ id: "999", size: "9223372036854776807", timestamp: "-999" }]);
        const parties = ["a", "b", "c"].map((partyId) => ({ partyId }));
        const echoed = await all(client.service(TradingDataService).observeEventBus(createAsyncIterable(parties)));
        assert.deepEqual(
          echoed.map(({ events }) => events[0].id),
          ["a", "b", "c"],
        );
      });

    const timing = () =>
      calling("plain", async (client) => {
        const left = Number(await idOf(stopOrder(client, "deadline", { timeoutMs: 5000 })));
        assert.ok(left > 4000 && left <= 5000, `the server was told of ${left} ms`);
        const { error } = await stopOrder(client, "slow", { timeoutMs: 300 });
        assert.equal(error.code, "DEADLINE_EXCEEDED"); // The server, which has the same deadline, may end the call first.
        const signal = abortedIn(200);
        const { error: canceled } = await answers(client, data.observeAccounts, {}, { signal });
        assert.equal(canceled.name, "CanceledError");
      });

    const sizes = async () => {
      await calling("plain", async (client) => {
        assert.equal((await idOf(stopOrder(client, "large"))).length, LARGE_BYTES);
        const { error } = await stopOrder(client, "x".repeat(WIDEST_BYTES));
        assert.deepEqual([error.name, error.code], ["NodeError", "RESOURCE_EXHAUSTED"]);
      });
      const refused = (client) => stopOrder(client, "large");
      const { error } = await calling("plain", refused, { limits: { maxMessageBytes: 1 << 20 } });
      assert.equal(error.code, "RESOURCE_EXHAUSTED");
    };

    const compressing = () =>
      calling("plain", async (client) => {
        const answer = await idOf(stopOrder(client, "gzip"));
        assert.equal(answer.length, LARGE_BYTES); // What the server sends to those who accept gzip.
      });

    const carrying = () =>
      calling("plain", async (client) => {
        const headers = { "interop-text": "a, b; ~", "interop-bin": Buffer.from([0, 255, 10]).toString("base64") };
        assert.equal(await idOf(stopOrder(client, "metadata", { headers })), '["a, b; ~"] [00ff0a]');
      });

    const aging = () =>
      calling(
        "aging",
        async (client) => {
          const slow = answers(client, data.observeTrades, { marketIds: ["slowly"] });
          const end = Date.now() + CALLING_MS;
          const callOn = async () => {
            while (Date.now() < end) {
              assert.equal((await answers(client, data.ping, {})).error, undefined);
            }
          };
          await Promise.all(Array.from({ length: AT_ONCE }, callOn));
          const { messages, error } = await slow;
          assert.deepEqual([messages.length, error], [TRADES, undefined]);
        },
        // grpc-js does not say of a call that the end of its connection has met that nothing of it has left.
        { tries: transport === "grpc-js" ? 10 : 1 },
      );

    const pinged = () =>
      calling("pinging", async (client) => {
        const signal = abortedIn(3500);
        const { error } = await answers(client, data.observeAccounts, {}, { signal });
        assert.equal(error.name, "CanceledError");
      });

    const tooManyPings = () =>
      calling(
        "strict",
        async (client) => {
          const signal = AbortSignal.timeout(20_000);
          const { error } = await answers(client, data.observeAccounts, {}, { signal });
          assert.equal(error.name, "ConnectionError");
          assert.equal((await answers(client, data.ping, {})).error, undefined);
        },
        { keepaliveMs: 300 },
      );

    const title = (what) => `grpc-go server, ${transport}: ${what}`;
    return [
      [title("errors with details, in trailers alone and behind headers"), failing],
      [title("an export in chunks of 1 MiB, and errors before, within and behind it"), exporting],
      [title("streams, one way and both ways"), streaming],
      [title("deadlines and cancels"), timing],
      [title("messages too large for either side"), sizes],
      [title("an answer that gzip may compress"), compressing],
      [title("headers, binary ones too"), carrying],
      [title("connections that age: GOAWAY under calls and streams"), aging],
      [title("pings from the server"), pinged],
      [title("a server that wants no pings"), tooManyPings],
    ];
  };
  return [...cases("grpc"), ...cases("grpc-js")];
}

/** A signal that is aborted as a caller would, which is not the end of a time. */
function abortedIn(ms) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), ms);
  return controller.signal;
}
