import { request } from "node:http";
import { connect } from "node:net";
import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, test } from "@jest/globals";
import { CanceledError, ConnectionError, RequestError } from "tradewire";
import { createSyncState, type SyncState, startWatch, type Watch, type WatchOptions } from "tradewire/sync";
import { loadOf, planned, unitOf } from "../../support/sync-events.js";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";
import { hostCheck, parseListen } from "./inside.js";

let ms = 0;
let watch: Watch | undefined;
afterEach(() => watch?.close());

async function watching(options: Partial<WatchOptions> = {}): Promise<{ state: SyncState; url: string }> {
  const state = createSyncState({ tables: ["trades", "orders"], now: () => ms });
  watch = await startWatch({ listen: "127.0.0.1:0", state, ...options });
  return { state, url: watch.url };
}

const unreachable = () =>
  new ConnectionError("the node cannot be reached", { code: Code.Unavailable, advice: "Check the URL." });

describe("the address", () => {
  test.each([
    ["127.0.0.1:9464", { host: "127.0.0.1", port: 9464 }],
    [":0", { host: "127.0.0.1", port: 0 }],
    ["[::1]:80", { host: "::1", port: 80 }],
    ["localhost:65535", { host: "localhost", port: 65_535 }],
  ])("%s is read", (listen, address) => {
    expect(parseListen(listen)).toEqual(address);
  });

  test.each(["9464", "127.0.0.1", "host:", "host:65536", "::1:80", "[host]:80", "http://host:80", "a b:1", "[1:2]:3"])(
    "%s is refused",
    async (listen) => {
      await expect(watching({ listen })).rejects.toThrow(RequestError);
      await expect(watching({ listen })).rejects.toThrow(/listen must be host:port, .* \(got .*\)\nPort 0/);
    },
  );

  test("whose port is taken is refused", async () => {
    const { url } = await watching();
    const listen = new URL(url).host;
    const second = startWatch({ listen, state: createSyncState() });
    await expect(second).rejects.toThrow(ConnectionError);
    await expect(second).rejects.toThrow(`cannot listen on ${listen}: address already in use`);
  });
});

describe("/metrics", () => {
  test("has what Prometheus reads", async () => {
    const { state, url } = await watching({ queue: async () => ({ created: 12, 'a"b': 1 }) });
    state.take(planned(4, { trades: 1, orders: 4 }));
    loadOf("trades", 1).forEach(state.take);
    state.take({ kind: "failed", unit: unitOf("trades", 2), error: unreachable(), attempt: 1 });
    const answer = await fetch(`${url}/metrics`);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await answer.text();
    const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(samples).toEqual(
      [
        ...['units_total{table="trades"} 1', 'units_total{table="orders"} 0'],
        ...['rows_total{table="trades"} 10', 'rows_total{table="orders"} 0'],
        ...['bytes_total{table="trades"} 100', 'bytes_total{table="orders"} 0'],
        'errors_total{kind="ConnectionError UNAVAILABLE"} 1',
        ...['units_missing{table="trades"} 2', 'units_missing{table="orders"} 0'],
        ...['gap_blocks{table="trades"} 0', 'gap_blocks{table="orders"} 0'],
        'units_active{node="node-a"} 0',
        "units_failed 1",
        "segments 4",
        "node_block 4000",
        ...['block{table="trades"} 2000', 'block{table="orders"} 4000'],
        "lag_blocks 2000",
        "lag_seconds 0",
        ...['queue_units{state="created"} 12', 'queue_units{state="a\\"b"} 1'],
        "ready 1",
        "silent_seconds 0",
      ].map((sample) => `tradewire_sync_${sample}`),
    );
    expect(text).toContain("# TYPE tradewire_sync_rows_total counter\n");
    expect(text).toContain("# TYPE tradewire_sync_lag_blocks gauge\n");
  });

  test("says that nothing is missing only while that is known, and keeps what is", async () => {
    const { state, url } = await watching();
    state.take(planned(4, { trades: 1, orders: 4 }));
    state.take({ kind: "waiting", error: unreachable(), againMs: 5000 });
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text.match(/^tradewire_sync_units_missing.*$/gm)).toEqual([
      'tradewire_sync_units_missing{table="trades"} 3',
    ]);
  });

  test("leaves out what is not known yet", async () => {
    const { url } = await watching();
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).not.toMatch(/lag|node_block|queue/);
    expect(text).toContain("tradewire_sync_ready 0");
  });
});

describe("health", () => {
  let laterMs = 0;
  const status = async (url: string) => {
    laterMs += 250; // A snapshot serves for 200 ms.
    const [health, ready] = await Promise.all([fetch(`${url}/healthz`), fetch(`${url}/readyz`)]);
    return [health.status, (await health.text()).trim(), ready.status, (await ready.text()).trim()];
  };

  test("tells whether things move, and whether they may", async () => {
    ms = 0;
    using _ = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + laterMs });
    const { state, url } = await watching({ stallMs: 10_000 });
    expect(await status(url)).toEqual([200, "ok", 503, "no plan yet"]);
    state.take(planned(2, { trades: 0, orders: 0 }));
    expect(await status(url)).toEqual([200, "ok", 200, "ok"]);
    ms += 11_000;
    expect(await status(url)).toEqual([503, "no progress for 11 s while there is work", 200, "ok"]);
    state.take({ kind: "waiting", error: unreachable(), againMs: 5000 });
    expect(await status(url)).toEqual([200, "ok", 503, "the node cannot be reached"]);
    loadOf("trades", 0).forEach(state.take);
    expect(await status(url)).toEqual([200, "ok", 200, "ok"]);
  });
});

describe("/state", () => {
  test("is the snapshot as JSON, with the queue", async () => {
    const { state, url } = await watching({ queue: () => ({ created: 5, odd: Number.NaN }) });
    state.take(planned(2, { trades: 1, orders: 0 }));
    const answer = await fetch(`${url}/state`);
    expect(answer.headers.get("content-encoding")).toBe(null); // It is too short for that.
    expect(await answer.json()).toMatchObject({
      chainId: "watched-chain",
      history: { fromBlock: "1", toBlock: "2000", segments: 2 },
      queue: { created: 5 },
    });
  });

  test("does without a queue that cannot be asked", async () => {
    const { url } = await watching({ queue: () => Promise.reject(new Error("gone")) });
    const answer = await fetch(`${url}/state`);
    expect([answer.status, "queue" in Object(await answer.json())]).toEqual([200, false]);
  });
});

describe("requests", () => {
  test("are answered with headers that keep browsers safe, and compressed", async () => {
    const { url } = await watching();
    const { status, headers } = await fetch(url);
    expect(status).toBe(200);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'sha256-.{44}'; style-src 'sha256-.{44}'; img-src data:; connect-src 'self';/,
    );
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-encoding")).toBe("gzip");
    expect(headers.get("access-control-allow-origin")).toBe(null);
  });

  test.each([
    ["POST", "/state", 405],
    ["DELETE", "/", 405],
    ["GET", "/nothing", 404],
    ["GET", "/constructor", 404],
    ["GET", "/state?x=1", 200],
    ["HEAD", "/state", 200],
  ])("%s %s is %i", async (method, path, status) => {
    const { url } = await watching();
    const answer = await fetch(url + path, { method });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("allow")).toBe(status === 405 ? "GET, HEAD" : null);
    expect((await answer.text()) === "").toBe(method === "HEAD");
  });

  test.each([
    ["localhost", 200],
    ["LOCALHOST:1234", 200],
    ["127.0.0.1:1", 200],
    ["[::1]:1", 200],
    ["sync.example", 200],
    ["evil.example", 421],
    ["127.0.0.1.evil.example", 421],
    ["192.0.2.1", 421],
    ["localhost@evil.example", 421],
  ])("for the host %p are %i", async (host, status) => {
    const { url } = await watching({ names: ["sync.example"] });
    const found = await new Promise((resolve, reject) => {
      request(url, { headers: { host } }, (answer) => resolve(answer.resume().statusCode))
        .on("error", reject)
        .end();
    });
    expect(found).toBe(status);
  });

  test("for any address are taken where all are listened on, but not for any name", () => {
    const check = hostCheck("0.0.0.0", []);
    expect(["192.0.2.1:9464", "[2001:db8::1]", "evil.example"].map(check)).toEqual([true, true, false]);
  });

  test("from more clients than the limit are closed, and others still served", async () => {
    const { url } = await watching();
    const { hostname, port } = new URL(url);
    let closed = 0;
    const sockets = Array.from({ length: 144 }, () => connect(Number(port), hostname));
    await new Promise<void>((resolve) => {
      for (const socket of sockets) {
        socket
          .on("error", () => undefined)
          .on("close", () => {
            closed += 1;
            if (closed === 16) resolve();
          });
      }
    });
    sockets[143]?.destroy();
    for (const socket of sockets) {
      socket.destroy();
    }
    let answer: Response | undefined;
    while (answer === undefined) {
      answer = await fetch(`${url}/healthz`).catch(() => undefined);
    }
    expect(answer.status).toBe(200);
  });
});

test("a client that does not end its request's head is closed", async () => {
  const { url } = await watching();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n");
  const answer = await new Promise((resolve) => socket.on("data", (data) => resolve(String(data).split("\r\n")[0])));
  expect(answer).toBe("HTTP/1.1 408 Request Timeout");
  await new Promise((resolve) => socket.on("close", resolve));
});

describe("the end", () => {
  test("comes with the signal, whatever is connected", async () => {
    const controller = new AbortController();
    const { url } = await watching({ signal: controller.signal });
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    await new Promise((resolve) => socket.on("connect", resolve));
    const closed = new Promise((resolve) => socket.on("close", resolve));
    controller.abort();
    await closed;
    await watch?.close();
    await expect(fetch(url)).rejects.toThrow();
  });

  test("comes before the beginning, where the signal was aborted", async () => {
    await expect(watching({ signal: AbortSignal.abort() })).rejects.toThrow(CanceledError);
  });
});
