// @ts-check
// Keeps a stop order behind the market, for a long position: as the price rises, the stop order is moved up.
//   TRADEWIRE_GRPC_URL=https://node.example:3007 TRADEWIRE_CHAIN_ID=chain node main.js KEY_FILE MARKET SIZE DISTANCE STEP
// SIZE is that of the position, in units of the market's last decimal. DISTANCE and STEP are in units of the last decimal of
// prices: the stop order is DISTANCE below the price, and moved when that has risen by STEP. The program ends with the position.
// SIGTERM or Ctrl-C takes the stop order back, and ends the program; the position stays open. If the program dies, or cannot reach
// the network, the network closes the position half a minute later (LEASE_MS).
import { createClient, loadConfig, signerFromKeyFile } from "tradewire";

const [keyFile = "trader.key", marketId = "", ...amounts] = process.argv.slice(2);

const stop = new AbortController();
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
  process.once(signal, () => stop.abort());
}

/** @param {string} name @param {string | undefined} given @param {bigint} otherwise */
function whole(name, given, otherwise) {
  if (given !== undefined && !/^\d{1,18}$/.test(given)) {
    throw new Error(`${name} must be a whole number (got ${JSON.stringify(given)})`);
  }
  return given === undefined ? otherwise : BigInt(given);
}

/** @param {import("tradewire").LeaseEvent} event */
function report(event) {
  switch (event.kind) {
    case "renewalFailed":
      console.log(`not renewed: ${event.error instanceof Error ? event.error.message : event.error}`);
      break;
    case "stopOrderRefused":
      console.log(`the stop order was refused: ${event.reason}`);
      break;
    case "positionClosing":
      console.log(`the position is closed by order ${event.orderId}: the stop order has ${event.cause}`);
      break;
  }
}

/**
 * @param {import("tradewire").Client} client
 * @param {import("tradewire").Leases} leases
 */
async function follow(client, leases) {
  const size = whole("SIZE", amounts[0], 1n);
  const distance = whole("DISTANCE", amounts[1], 100n);
  const step = whole("STEP", amounts[2], 10n);
  let isOpen = false;
  const request = /** @type {const} */ ({ types: ["marketData"], marketId });
  for await (const event of client.events(request, { reconnect: true, signal: stop.signal })) {
    const { state, markets } = leases.coverage();
    if ("gap" in event || state !== "live") {
      continue;
    }
    const { openVolume = 0n, trigger } = markets.find((market) => market.marketId === marketId) ?? {};
    if (openVolume === 0n && isOpen) {
      console.log("there is no position any more");
      return;
    }
    if (openVolume !== size) {
      throw new Error(`the position is ${openVolume}, not ${size}\nThe stop order closes all of it: give its size.`);
    }
    isOpen = true;
    const level = BigInt(event.value.lastTradedPrice || event.value.markPrice) - distance;
    if (trigger === undefined || !("fallsBelow" in trigger) || level >= BigInt(trigger.fallsBelow) + step) {
      leases.setTrigger(marketId, { fallsBelow: String(level) });
      console.log(`stop order at ${level}`);
    }
  }
}

/** @param {import("tradewire").Client} client */
async function run(client) {
  const leaseMs = Number(whole("LEASE_MS", process.env["LEASE_MS"], 30_000n));
  const signer = await signerFromKeyFile(keyFile);
  const times = { leaseMs, flattenAfterMs: leaseMs };
  const leases = client.leases({ signer, marketIds: [marketId], ...times, onEvent: report });
  try {
    await follow(client, leases);
  } catch (reason) {
    if (!stop.signal.aborted) {
      throw reason;
    }
    await leases.release({ positions: "keep" });
    console.log("stop order taken back");
  } finally {
    leases.close();
  }
}

try {
  const client = createClient(loadConfig({ forSigning: true }).config);
  try {
    await run(client);
  } finally {
    await client.close();
  }
} catch (reason) {
  console.error(reason instanceof Error ? reason.message : reason); // What went wrong, and then what to do.
  process.exitCode = 1;
}
