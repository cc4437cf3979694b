// What the runs share.

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

/** The paths of the methods over REST, and what they are asked. */
export const EXPORT_PATH = "/api/v2/networkhistory/export?fromBlock=1&toBlock=1000&table=TABLE_TRADES";
export const PARAMETER_PATH = "/api/v2/network/parameters/snapshot.interval.length";
export const KEY = { key: "snapshot.interval.length" };
