import { execFile } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type ClientConfig, createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { serveViolation, type Violation } from "../../support/breaking-http2.js";
import { builtProgram } from "../../support/built-program.js";
import { main, start } from "../../support/command-process.js";
import { gate } from "../../support/gate.js";
import { serveNode } from "../../support/node.js";
import { serveSockets } from "../../support/servers.js";

const VIOLATIONS: readonly Violation[] = ["large trailer", "broken HPACK", "DATA on stream 0", "oversized frame"];
const TRANSPORTS = ["grpc", "grpc-js"] as const;
const ONE_TRY = { TRADEWIRE_RETRY_TRIES: "1" };
const run = promisify(execFile);

const closing: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) {
    await close();
  }
});

let program: string;
beforeAll(async () => {
  program = await builtProgram("test/support/observing-program.ts", "observing");
});
afterAll(() => rmSync(program, { force: true }));

// For all of these, Node 20 tells neither the session nor its streams, and stops reading: the process had nothing left
// to wait for, and ended with exit code 13 in the middle of its loop.
test("a program with nothing else alive gets an error of a session that nghttp2 has given up", async () => {
  const cases = VIOLATIONS.flatMap((violation) => TRANSPORTS.map((transport) => ({ violation, transport })));
  const ends = cases.map(async ({ violation, transport }) => {
    const server = await serveViolation(violation);
    closing.push(() => server.close());
    const { stdout } = await run(process.execPath, [program, server.url, transport]); // It fails with another code than 0.
    return { violation, transport, stdout };
  });
  for (const { transport, stdout } of await Promise.all(ends)) {
    const summary = transport === "grpc" ? "the server violated the HTTP/2 protocol" : "the connection was lost";
    expect(stdout).toMatch(new RegExp(`^ConnectionError: ${summary} \\(http://127.0.0.1:\\d+\\)\nfinally\n$`));
  }
});

test("the command says that such a session broke, exits with 1, and leaves no file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-broken-"));
  closing.push(() => rm(folder, { recursive: true }));
  const ranges = ["--table", "trades", "--from-block", "1", "--to-block", "9", "--to", join(folder, "trades.zip")];
  const cases = VIOLATIONS.flatMap((violation) => TRANSPORTS.map((transport) => ({ violation, transport })));
  const tried = cases.map(async ({ violation, transport }) => {
    const server = await serveViolation(violation);
    closing.push(() => server.close());
    const over = ["--transport", transport, "--grpc-url", server.url];
    const commands = [
      ["export", ...ranges],
      ["events", "--no-reconnect"],
    ];
    const ends = commands.map((args) => start(process.execPath, [main, ...args, ...over], folder, ONE_TRY).ended);
    const summary = transport === "grpc" ? "the server violated the HTTP/2 protocol" : "the connection was lost";
    for (const { code, out, err } of await Promise.all(ends)) {
      expect({ violation, code, out }).toEqual({ violation, code: 1, out: "" });
      expect(err).toMatch(new RegExp(`^tradewire: (.*: )?${summary} \\(${server.url}\\)`));
    }
  });
  await Promise.all(tried);
  expect(await readdir(folder)).toEqual([]);
});

describe.each(TRANSPORTS)("over %s", (transport) => {
  test("a call after one that a broken session has kept waiting opens a new connection", async () => {
    const server = await serveViolation("DATA on stream 0");
    closing.push(() => server.close());
    await using client = createClient({ transport, grpc: { url: server.url }, retry: { tries: 1 } });
    for (const count of [1, 2]) {
      await expect(client.listSegments({ timeoutMs: 1500 })).rejects.toThrow("the deadline of the call passed");
      expect(server.connections.length).toBe(count);
    }
  });
});

/** A proxy that can forget its connections: what is sent over them goes nowhere, and no one is told. */
async function forgettingProxy(target: string) {
  const { hostname, port } = new URL(target);
  let known = new Set<Socket>();
  const proxy = await serveSockets((socket) => {
    const back = connect(Number(port), hostname);
    known.add(socket);
    const isKnown = () => known.has(socket);
    back.on("error", () => undefined);
    back.on("data", (bytes) => isKnown() && socket.write(bytes));
    socket.on("data", (bytes) => isKnown() && back.write(bytes));
    socket.on("close", () => back.destroy());
  });
  closing.push(() => proxy.close());
  const forget = () => {
    known = new Set();
  };
  return { url: proxy.url, forget };
}

// Linux sends again for about 15 minutes before it tells that nobody acknowledges what is sent (tcp(7), tcp_retries2).
test.each([...TRANSPORTS, "rest"] as const)(
  "a connection that a proxy has forgotten costs one call over %s",
  async (transport) => {
    await using node = await serveNode({ listAllNetworkHistorySegments: () => ({ segments: [] }) });
    const proxy = await forgettingProxy(transport === "rest" ? node.restUrl : node.grpcUrl);
    const config: ClientConfig = { transport, retry: { tries: 1 }, grpc: { url: proxy.url }, rest: { url: proxy.url } };
    await using client = createClient(config);
    await Promise.all([client.listSegments(), client.listSegments(), client.listSegments()]);
    proxy.forget();
    await expect(client.listSegments({ timeoutMs: 1500 })).rejects.toThrow("the deadline of the call passed");
    for (let call = 0; call < 3; call += 1) {
      expect(await client.listSegments({ timeoutMs: 60_000 })).toEqual([]);
    }
  },
);

test("a stream goes on where a call beside it ends without an answer", async () => {
  let callOver = gate();
  await using node = await serveNode({
    async *observeMarketsData(_, { signal }) {
      yield {};
      await callOver.promise;
      await new Promise((resolve) => setTimeout(resolve, 1000)); // Longer than a ping of grpc-js's connection may take.
      signal.throwIfAborted();
      yield {};
    },
    listAllNetworkHistorySegments: (_, { signal }) =>
      once(signal, "abort")
        .then(() => callOver.open())
        .then(() => ({})),
  });
  for (const transport of TRANSPORTS) {
    callOver = gate();
    await using client = createClient({ transport, grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
    let count = 0;
    const calls: Promise<unknown>[] = [];
    for await (const _ of client.service(TradingDataService).observeMarketsData({})) {
      count += 1;
      if (count === 1) {
        calls.push(client.listSegments({ timeoutMs: 400 }).catch(() => undefined));
      }
    }
    await Promise.all(calls);
    expect(count).toBe(2);
  }
});
