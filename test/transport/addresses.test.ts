import { spawn } from "node:child_process";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { connect, createServer, type LookupFunction, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { eventually } from "../support/eventually.js";
import { freePort } from "../support/free-port.mjs";
import { nodeRuntime, useRuntime } from "../support/virtual-runtime.js";
import { startWaysNode, type WaysNode, ways } from "../support/ways.js";

let node: WaysNode;
beforeAll(async () => {
  node = await startWaysNode();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** Has names resolve to addresses, which may change, instead of asking the system. */
function resolving(addresses: () => readonly string[]): Disposable {
  const lookup: LookupFunction = (_, __, callback) => {
    const found: LookupAddress[] = addresses().map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    setImmediate(() => callback(null, found));
  };
  return useRuntime({ connect: (options) => nodeRuntime.connect({ ...options, lookup }) });
}

/** Forward connections to an address of this machine to a server. */
async function forward(host: string, port: number, target: string) {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    sockets.add(socket.on("error", () => undefined));
    const back = connect(Number(new URL(target).port), "127.0.0.1");
    back.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => back.destroy());
    socket.pipe(back).pipe(socket);
  });
  server.listen(port, host);
  await once(server, "listening");
  return {
    count: () => count,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
      await once(server, "close");
    },
  };
}

/** A process that listens and accepts nothing, with a full queue: the system drops further attempts to connect. */
async function startSilentAddress(host: string, port: number) {
  const program = `
    const server = require("node:net").createServer().listen({ port: ${port}, host: "${host}", backlog: 1 }, () => {
      require("node:fs").writeSync(1, "listening");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ["--eval", program], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const queued = Array.from({ length: 4 }, () => connect(port, host).on("error", () => undefined));
  await Promise.all(queued.slice(0, 2).map((socket) => once(socket, "connect")));
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of queued) {
        socket.destroy();
      }
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

/** `grpc-js` resolves names by itself. */
const ours = ways.filter(({ name }) => name !== "grpc-js");

describe.each(ours.map((way) => [way.name, way] as const))("the addresses of a name, over %s,", (_, way) => {
  const urlOf = (port: number) => `http://node.invalid:${port}`;

  it("are all tried where the first ones refuse", async () => {
    const port = await freePort();
    await using _live = await forward("127.0.0.4", port, node.urls[way.server]);
    using _names = resolving(() => ["127.0.0.2", "127.0.0.3", "::1", "127.0.0.4"]);
    await using client = way.connect(urlOf(port));
    await way.call(client);
  });

  it("cost a short time where one does not answer, not the time for connecting", async () => {
    const port = await freePort();
    await using _silent = await startSilentAddress("127.0.0.2", port);
    await using _live = await forward("127.0.0.3", port, node.urls[way.server]);
    using _names = resolving(() => ["127.0.0.2", "127.0.0.3"]);
    await using client = way.connect(urlOf(port), { timeouts: { connectMs: 60_000, callMs: 50_000 } });
    await way.call(client);
  });

  it("are resolved again after the connection was lost, so that a changed record is followed", async () => {
    const port = await freePort();
    let address = "127.0.0.2";
    using _names = resolving(() => [address]);
    const first = await forward("127.0.0.2", port, node.urls[way.server]);
    await using second = await forward("127.0.0.3", port, node.urls[way.server]);
    await using client = way.connect(urlOf(port));
    await way.call(client);
    expect([first.count(), second.count()]).toEqual([1, 0]);
    address = "127.0.0.3";
    await first[Symbol.asyncDispose]();
    await eventually(() =>
      way.call(client).then(
        () => true,
        () => false,
      ),
    );
    expect(second.count()).toBe(1);
  });
});
