import { describe, expect, it } from "@jest/globals";
import { CanceledError, createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { eventually, standsStill } from "../../support/eventually.js";
import { configOf, failureOf, ways } from "../../support/listing-clients.js";
import { serveNode } from "../../support/node.js";

const nowhere = { grpcUrl: "http://127.0.0.1:9", restUrl: "http://127.0.0.1:9" };

/** Collect the rejections that nobody handles while `act` runs; Node ends a process for one of them. */
async function unhandledDuring(act: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    await act();
    await standsStill(() => unhandled.length);
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
      await standsStill(() => later);
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

describe.each(["grpc", "grpc with JSON", "grpc-js"] as const)(
  "an answer that is not read to its end, over %s,",
  (way) => {
    it("keeps the process alive no more once it is dropped, although all of it came", async () => {
      let sent = 0;
      await using node = await serveNode({
        async *observeMarketsData() {
          for (; sent < 100; sent += 1) {
            yield { marketData: [{ market: "m".repeat(1000) }] };
          }
        },
      });
      await standsStill(sockets); // Those of tests before this one may be closing.
      const others = sockets();
      await using client = createClient(configOf(way, node));
      for await (const _ of client.service(TradingDataService).observeMarketsData({})) {
        await eventually(() => sockets() === others + 2); // The client's, and the node's own end of it.
        await eventually(() => sent === 100);
        await standsStill(sockets); // All of the answer comes.
        break;
      }
      await eventually(() => sockets() === others + 1);
    });
  },
);
