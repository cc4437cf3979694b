import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { eventually } from "../../support/eventually.js";
import { startForwarder } from "../../support/forwarder.js";
import { freePort } from "../../support/free-port.mjs";
import { resolveNames } from "../../support/names.js";
import { startWaysNode, type WaysNode, ways } from "../../support/ways.js";

let node: WaysNode;
beforeAll(async () => {
  node = await startWaysNode();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

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

describe.each(ways.map((way) => [way.name, way] as const))("the addresses of a name, over %s,", (_, way) => {
  const urlOf = (port: number) => `http://node.invalid:${port}`;

  it("are all tried where the first ones refuse", async () => {
    const port = await freePort();
    await using _live = await startForwarder("127.0.0.4", port, node.urls[way.server]);
    using _names = resolveNames(() => ["127.0.0.2", "127.0.0.3", "::1", "127.0.0.4"]);
    await using client = way.connect(urlOf(port));
    await way.call(client);
  });

  it("cost a short time where one does not answer, not the time for connecting", async () => {
    const port = await freePort();
    await using _silent = await startSilentAddress("127.0.0.2", port);
    await using _live = await startForwarder("127.0.0.3", port, node.urls[way.server]);
    using _names = resolveNames(() => ["127.0.0.2", "127.0.0.3"]);
    await using client = way.connect(urlOf(port), { timeouts: { connectMs: 60_000, callMs: 50_000 } });
    await way.call(client);
  });

  it("are resolved again after the connection was lost, so that a changed record is followed", async () => {
    const port = await freePort();
    let address = "127.0.0.2";
    using _names = resolveNames(() => [address]);
    const first = await startForwarder("127.0.0.2", port, node.urls[way.server]);
    await using second = await startForwarder("127.0.0.3", port, node.urls[way.server]);
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
