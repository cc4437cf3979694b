// @ts-check
// Keeps a stop order behind the market, for a long position: as the price rises, the stop order is moved up.
//   TRADEWIRE_GRPC_URL=https://node.example:3007 TRADEWIRE_CHAIN_ID=chain node main.js KEY_FILE MARKET SIZE DISTANCE STEP
// DISTANCE and STEP are in units of the market's last decimal: the stop order is DISTANCE below the price, and moved
// when that has risen by STEP. The program ends when the stop order does: triggered, expired, or cancelled elsewhere.
// SIGTERM or Ctrl-C takes the stop order back, and ends the program.
import { createClient, loadConfig, signerFromKeyFile } from "tradewire";
import { createStopOrder } from "./stop-order.js";

const [keyFile = "trader.key", marketId = "", ...amounts] = process.argv.slice(2);

const stop = new AbortController();
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
  process.once(signal, () => stop.abort());
}

/** @param {string} name @param {string | undefined} given @param {bigint} otherwise */
function whole(name, given, otherwise) {
  if (given !== undefined && !/^\d{1,18}$/.test(given)) {
    throw new Error(`${name} is ${JSON.stringify(given)}\nGive a whole number.`);
  }
  return given === undefined ? otherwise : BigInt(given);
}

/**
 * @param {import("tradewire").Client} client
 * @param {import("tradewire").Signer} signer
 */
async function follow(client, signer) {
  const size = whole("SIZE", amounts[0], 1n);
  const distance = whole("DISTANCE", amounts[1], 100n);
  const step = whole("STEP", amounts[2], 10n);
  const stopOrder = createStopOrder(client, signer, { marketId, size });
  try {
    const request = /** @type {const} */ ({ types: ["marketData", "stopOrder"], marketId });
    for await (const event of client.events(request, { reconnect: true, signal: stop.signal })) {
      if ("gap" in event) {
        console.log("the connection was lost, and is there again");
        stopOrder.forget();
      } else if (event.kind === "marketData") {
        const price = BigInt(event.value.lastTradedPrice || event.value.markPrice);
        await stopOrder.raiseTo(price - distance, step);
      } else if (event.kind === "stopOrder") {
        stopOrder.hear(event.value.stopOrder);
      }
      if (stopOrder.isOver) {
        console.log("the stop order has come to its end");
        return;
      }
    }
  } catch (reason) {
    if (!stop.signal.aborted) {
      throw reason;
    }
  } finally {
    await stopOrder.takeBack();
  }
}

try {
  /** @type {import("tradewire").Hooks} */
  const hooks = { onRetry: ({ error }) => console.log(`waiting for the node: ${error.summary}`) };
  const client = createClient(loadConfig({ forSigning: true }).config, { hooks });
  try {
    await follow(client, await signerFromKeyFile(keyFile));
  } finally {
    await client.close();
  }
} catch (reason) {
  console.error(reason instanceof Error ? reason.message : reason); // What went wrong, and then what to do.
  process.exitCode = 1;
}
