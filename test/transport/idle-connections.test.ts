import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { standsStill } from "../support/eventually.js";
import { serveTcp } from "../support/node.js";
import { nodeRuntime, useRuntime } from "../support/virtual-runtime.js";
import { startWaysNode, type WaysNode, ways } from "../support/ways.js";

let node: WaysNode;
beforeAll(async () => {
  node = await startWaysNode();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** Half of it is how long `grpc` waits for the reply to a ping. */
const CONNECT_MS = 4000;

/** A NAT that forgets its connections without closing them: from then on, nothing goes through those that are open. */
async function startNat(target: string) {
  const forgotten = new Set<Socket>();
  const known = new Set<Socket>();
  let bytes = 0;
  const front = await serveTcp((socket) => {
    known.add(socket);
    const back = connect(Number(new URL(target).port), "127.0.0.1");
    back.on("error", () => undefined);
    const forward = (to: Socket) => (part: Buffer) => {
      bytes += part.length;
      return forgotten.has(socket) || to.write(part);
    };
    back.on("data", forward(socket));
    socket.on("data", forward(back));
    socket.on("close", () => back.destroy());
  });
  return {
    url: front.url,
    count: front.count,
    bytes: () => bytes,
    forget() {
      for (const socket of known) {
        forgotten.add(socket);
      }
    },
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}

/** A WebSocket belongs to one call, and is never idle: it is pinged every 25 seconds. */
const reusing = ways.filter(({ name }) => name !== "websocket");

describe.each(reusing.map((way) => [way.name, way] as const))(
  "a connection that a NAT has forgotten, over %s,",
  (_, way) => {
    // The idle timeouts of AWS: a Network Load Balancer has 350 s by default, an Application Load Balancer 60 s
    // (docs.aws.amazon.com/elasticloadbalancing: latest/network/update-idle-timeout, application/application-load-balancers).
    it.each([60, 350])("costs no call after %i seconds without one", async (idleSeconds) => {
      await using nat = await startNat(node.urls[way.server]);
      let skippedMs = 0;
      using _clock = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + skippedMs });
      await using client = way.connect(nat.url, { timeouts: { connectMs: CONNECT_MS } });
      await way.call(client);
      await standsStill(nat.bytes); // The call has ended on both sides.
      nat.forget();
      skippedMs = idleSeconds * 1000 + 1;
      await way.call(client);
      expect(nat.count()).toBe(2);
    });
  },
);
