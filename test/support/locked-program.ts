/**
 * A program for a process with unusual intrinsics: `GRPC_URL REST_URL SEED MARKET`. It makes a call, an export and a transaction
 * over each transport, and prints `TRANSPORT done`.
 */

import { createClient, Order_TimeInForce, Order_Type, Side, signerFromSeed, TradewireError } from "tradewire";

const [, , grpcUrl = "", restUrl = "", seed = "", marketId = ""] = process.argv;
const order = {
  marketId,
  price: "1",
  size: 1n,
  side: Side.BUY,
  timeInForce: Order_TimeInForce.GTC,
  type: Order_Type.LIMIT,
};
for (const transport of ["grpc", "grpc-js", "rest"] as const) {
  try {
    const signer = signerFromSeed(Buffer.from(seed, "hex"));
    await using client = createClient({ transport, grpc: { url: grpcUrl }, rest: { url: restUrl } });
    const [segment] = await client.listSegments();
    let rows = 0;
    for await (const _ of client
      .exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: segment?.toHeight ?? 1n })
      .rows()) {
      rows += 1;
    }
    const { txHash } = await client.sendCommand({ case: "orderSubmission", value: order }, { signer });
    await client
      .exportNetworkHistory({ table: "blocks", fromBlock: 2, toBlock: 3 })
      .toZip()
      .then(
        () => console.log("no error"),
        (reason: unknown) => reason instanceof TradewireError || console.log(reason),
      );
    console.log(transport, rows > 0 && /^[0-9A-F]{64}$/i.test(txHash) ? "done" : `${rows} rows, ${txHash}`);
  } catch (reason) {
    console.log(transport, reason);
  }
}
