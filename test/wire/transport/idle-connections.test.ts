import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { standsStill } from "../../support/eventually.js";
import { startNat } from "../../support/nat.js";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";
import { startWaysNode, type WaysNode, ways } from "../../support/ways.js";

let node: WaysNode;
beforeAll(async () => {
  node = await startWaysNode();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** Half of it is how long `grpc` waits for the reply to a ping. */
const CONNECT_MS = 4000;

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
