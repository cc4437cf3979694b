import { describe, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { serveTcp } from "../../support/node.js";
import { market, sender } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

// Each look-up and call has a limit of its own, five seconds and more; before, they came one after the other.
describe.each(["grpc", "grpc-js", "rest"] as const)("over a silent node, by %s", (transport) => {
  const order = {
    marketId: market,
    size: 1n,
    side: Side.BUY,
    timeInForce: Order_TimeInForce.GTC,
    type: Order_Type.LIMIT,
    price: "1",
  };

  test("outcome and sendCommand end in their time", async () => {
    using runtime = useVirtualRuntime({ io: true, unixMs: Date.now() }); // grpc-js reads the clock too.
    await using silent = await serveTcp(() => undefined);
    await using client = createClient({ transport, grpc: { url: silent.url }, rest: { url: silent.url } });
    const startedAt = runtime.monotonicMs();
    const outcome = await runtime.until(client.outcome("AB".repeat(32), { timeoutMs: 500 }));
    expect(outcome).toMatchObject({ status: "unknown" });
    const command = { case: "orderSubmission", value: order } as const;
    const sending = client.sendCommand(command, { signer: sender, until: "executed", timeoutMs: 500 });
    await expect(runtime.until(sending)).rejects.toThrow(/before the transaction was sent/);
    expect(runtime.monotonicMs() - startedAt).toBeLessThan(5000); // One look alone may take as long.
  });
});
