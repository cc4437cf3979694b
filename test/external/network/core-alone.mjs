// A core node without its data node: outcomes and events over its gRPC, one clear sentence over its REST.
import assert from "node:assert/strict";
import { TransactionError } from "tradewire";
import { limitOrder, percent } from "./market.mjs";

/** Make the cases. */
export function coreAloneCases({ network, market }) {
  const { coreGrpc, coreRest } = network.clients;
  const order = (id) => limitOrder(id, "BUY", percent(70));

  const cases = {
    async "gRPC: a command until it is executed"(signal) {
      const { id, alice } = await market();
      const { outcome, txHash } = await coreGrpc.sendCommand(order(id), { signer: alice, signal, until: "executed" });
      assert.equal(outcome.status, "executed", outcome.reason);
      const result = await network.bus.resultOf(txHash);
      assert.equal(outcome.block, BigInt(result.id.split("-")[0]));
    },
    async "gRPC: events"(signal) {
      const seen = [];
      for await (const event of coreGrpc.events({ types: ["endBlock"] }, { signal })) {
        seen.push(event.block);
        if (seen.length === 3) {
          break;
        }
      }
      assert.deepEqual(seen, [seen[0], seen[0] + 1n, seen[0] + 2n]);
    },
    async "gRPC: events in batches"(signal) {
      const seen = [];
      for await (const event of coreGrpc.events({ types: ["endBlock"], batchSize: 4 }, { signal })) {
        seen.push(event.block);
        if (seen.length === 8) {
          break;
        }
      }
      assert.equal(seen[7], seen[0] + 7n);
    },
    async "gRPC: an outcome asked for later"(signal) {
      const { id, alice } = await market();
      const { txHash } = await coreGrpc.sendCommand(order(id), { signer: alice, signal });
      const outcome = await coreGrpc.outcome(txHash, { signal, timeoutMs: 5000 });
      assert.notEqual(outcome.status, "failed", outcome.reason);
    },
    async "gRPC: a refusal"(signal) {
      const { alice } = await market();
      await assert.rejects(coreGrpc.sendCommand(order("e".repeat(64)), { signer: alice, signal }), TransactionError);
    },
    async "REST: a command is submitted"(signal) {
      const { id, alice } = await market();
      const { txHash, success } = await coreRest.sendCommand(order(id), { signer: alice, signal });
      assert.equal(success, true);
      const result = await network.bus.resultOf(txHash);
      assert.equal(result?.event.value.status, true);
    },
    async "REST: waiting for an outcome fails at once, before anything is sent"(signal) {
      const { id, alice } = await market();
      const began = performance.now();
      await assert.rejects(coreRest.sendCommand(order(id), { signer: alice, signal, until: "executed" }), (error) => {
        assert.match(error.summary, /core|event|stream|WebSocket/i);
        return true;
      });
      assert.ok(performance.now() - began < 5000, "it did not fail at once");
    },
    async "REST: events fail at once"(signal) {
      const began = performance.now();
      await assert.rejects(async () => {
        for await (const _ of coreRest.events({ types: ["endBlock"] }, { signal })) {
          break;
        }
      });
      assert.ok(performance.now() - began < 5000, "it did not fail at once");
    },
  };
  return Object.entries(cases).map(([name, check]) => ({ group: "core alone", name, check }));
}
