import { expect, it } from "@jest/globals";
import { order, policyOf, signingAlone, useGuardedNode } from "../support/guarded-node.js";

const started = useGuardedNode();

it("more cancellations than a guard counts transactions leave room for an order", async () => {
  const { client, one } = started;
  using signer = await started.newSigner();
  await using guard = await client.guard({ signer, policy: policyOf() });
  const { chainId, height } = await client.lastBlockHeight();
  const sign = signingAlone(guard, chainId);
  for (let count = 0; count < 10_001; count += 1) {
    await sign({ case: "orderCancellation", value: {} }, height);
  }
  expect(await sign(order(one), height)).toHaveLength(64);
});
