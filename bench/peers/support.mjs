// What the runs share.
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Count the bytes of an async iterable of pieces. */
export async function count(pieces) {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
  }
  return bytes;
}

/** Make calls, so many at once. */
export async function makeCalls({ calls, atOnce }, call) {
  let left = calls;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return calls;
}

/** Make so many things that are kept, and tell how many bytes each takes: the second half, as the first loads what all share. */
export async function keep(amount, make) {
  const kept = [];
  const fill = async (count) => {
    while (kept.length < count) {
      kept.push(await make());
    }
    return held();
  };
  const before = await fill(amount / 2);
  const after = await fill(amount);
  const each = (kind) => (after[kind] - before[kind]) / (amount / 2);
  return { amount, each: each("resident"), heapEach: each("heap") };
}

/** What the process holds when garbage is gone. */
async function held() {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  for (let time = 0; time < 3; time += 1) {
    await turn(); // Finalizers run between collections.
    collect();
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { resident: rss, heap: heapUsed + external };
}

/** The paths of the methods over REST, and what they are asked. */
export const EXPORT_PATH = "/api/v2/networkhistory/export?fromBlock=1&toBlock=1000&table=TABLE_TRADES";
export const PARAMETER_PATH = "/api/v2/network/parameters/snapshot.interval.length";
export const KEY = { key: "snapshot.interval.length" };
