import { setImmediate } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { signerFromMnemonic } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { openMarket } from "../../support/devnode.js";
import { order, policyOf, signingAlone } from "../../support/guarded-node.js";
import { clientOf } from "../../support/leases.js";

it("more cancellations than a guard counts transactions leave room for an order", async () => {
  await using node = await startDevnode({ profile: "deployed", blockMs: 0 }); // Without blocks, all that is signed stays valid.
  await using client = clientOf(node.grpcUrl);
  using signer = await signerFromMnemonic(node.mnemonic);
  await using guard = await client.guard({ signer, policy: policyOf() });
  const { size } = await client.marketUnits(openMarket);
  const { chainId, height } = await client.lastBlockHeight();
  const sign = signingAlone(guard, chainId);
  for (let count = 0; count < 10_001; count += 1) {
    await sign({ case: "orderCancellation", value: {} }, height);
    await setImmediate(); // The guard reads the node meanwhile.
  }
  expect(await sign(order(size.parse("1")), height)).toHaveLength(64);
});
