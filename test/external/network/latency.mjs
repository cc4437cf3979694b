// How long a trader waits for the outcome of an order and of a transfer, in blocks and milliseconds.
import assert from "node:assert/strict";
import { limitOrder, percent } from "./market.mjs";
import { TDAI } from "./network.mjs";

const TRIES = 6;

/** Make the cases. */
export function latencyCases({ network, market, report }) {
  async function measure(name, command, signal) {
    const { id, alice, bob } = await market();
    const taken = [];
    for (let count = 0; count < TRIES; count++) {
      // Each starts at a height of its own, so that none waits for the block's allowance of transactions.
      await network.blocks(1);
      const before = await network.height();
      const began = performance.now();
      const options = { signer: alice, signal, until: "executed" };
      const { outcome } = await network.clients.grpc.sendCommand(command(id, bob), options);
      const ms = Math.round(performance.now() - began);
      const after = await network.height();
      assert.equal(outcome.status, "executed", outcome.reason);
      taken.push({ inBlock: Number(outcome.block - before), known: Number(after - before), ms });
    }
    const list = (key) => taken.map((each) => each[key]).join(", ");
    report.figure(
      `submit --wait, ${name}`,
      `executed in block +${list("inBlock")}; known at block +${list("known")}; after ${list("ms")} ms`,
    );
    const worst = Math.max(...taken.map(({ inBlock }) => inBlock));
    assert.ok(worst <= 4, `a transaction was executed only ${worst} blocks later`);
  }

  const order = (id) => limitOrder(id, "BUY", percent(80));
  const transfer = (_, bob) => ({
    case: "transfer",
    value: {
      fromAccountType: 4,
      toAccountType: 4,
      to: bob.publicKey,
      asset: TDAI,
      amount: "5",
      reference: "latency",
      kind: { case: "oneOff", value: { deliverOn: 0n } },
    },
  });
  return [
    { group: "latency", name: "an order", check: (signal) => measure("order", order, signal) },
    { group: "latency", name: "a transfer", check: (signal) => measure("transfer", transfer, signal) },
  ];
}
