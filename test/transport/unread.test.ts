import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { CanceledError, createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { configOf, failureOf, ways } from "../support/listing-clients.js";
import { serveNode } from "../support/node.js";

const nowhere = { grpcUrl: "http://127.0.0.1:9", restUrl: "http://127.0.0.1:9" };

/** Collect the rejections that nobody handles while `act` runs; Node ends a process for one of them. */
async function unhandledDuring(act: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    await act();
    await sleep(50);
  } finally {
    process.off("unhandledRejection", note);
  }
  return unhandled;
}

describe.each(ways)("a stream that fails before it is read, over %s,", (way) => {
  it("ends no process, and tells its failure where it is read later", async () => {
    await using client = createClient(configOf(way, nowhere));
    const service = client.service(TradingDataService);
    let later: unknown;
    const unhandled = await unhandledDuring(async () => {
      service.observeMarketsData({}, { signal: AbortSignal.abort() }); // Never read.
      const stream = service.observeMarketsData({}, { signal: AbortSignal.abort() });
      await sleep(100);
      later = await failureOf(async () => {
        for await (const _ of stream) {
          // Nothing comes.
        }
      });
    });
    expect(later).toBeInstanceOf(CanceledError);
    expect(unhandled).toEqual([]);
  });
});

/** The number of sockets that keep this process alive. */
const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

/** Wait, as long as a test may take, until the number of sockets that keep the process alive is another. */
async function untilSockets(count: number): Promise<void> {
  const signal = AbortSignal.timeout(4000);
  while (sockets() !== count) {
    await sleep(5, undefined, { signal });
  }
}

/** The number of sockets that tests before this one have left in this process, once those that are closing are closed. */
async function lastingSockets(): Promise<number> {
  for (let count = sockets(), since = Date.now(); ; ) {
    await sleep(20);
    if (sockets() !== count) {
      [count, since] = [sockets(), Date.now()];
    } else if (Date.now() - since > 500) {
      return count;
    }
  }
}

describe.each(["grpc", "grpc with JSON", "grpc-js"] as const)(
  "an answer that is not read to its end, over %s,",
  (way) => {
    it("keeps the process alive no more once it is dropped, although all of it came", async () => {
      await using node = await serveNode({
        async *observeMarketsData() {
          for (let sent = 0; sent < 100; sent += 1) {
            yield { marketData: [{ market: "m".repeat(1000) }] };
          }
        },
      });
      const others = await lastingSockets();
      await using client = createClient(configOf(way, node));
      for await (const _ of client.service(TradingDataService).observeMarketsData({})) {
        await untilSockets(others + 2); // The client's, and the node's own end of it.
        await sleep(200); // All of the answer comes.
        break;
      }
      await untilSockets(others + 1);
    });
  },
);
