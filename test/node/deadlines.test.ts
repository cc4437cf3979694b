// A data node's streams end with an error when the context of the call does (v0.78.0, `observe` in datanode/api/observe.go and
// `observeEvents` in datanode/api/event_observer.go: INTERNAL, "internal stream failure"), so that no client takes them for complete.
import { once } from "node:events";
import { connect } from "node:http2";
import { expect, it } from "@jest/globals";
import { startDevnode } from "tradewire/devnode";

const INTERNAL = "13";
const EMPTY = Buffer.alloc(5); // A frame of gRPC without content.
const methods = ["ObserveTrades", "ObserveOrders", "ObserveAccounts", "ObserveEventBus"];

it.each(methods)("%s ends with an error when the deadline of the call has passed", async (method) => {
  await using node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  const session = connect(node.grpcUrl);
  try {
    // A client of our own would end the call by its own clock.
    const call = session.request({
      ":method": "POST",
      ":path": `/datanode.api.v2.TradingDataService/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
      "grpc-timeout": "200m",
    });
    const ended = once(call, "trailers");
    call.resume();
    call.end(EMPTY);
    const [trailers] = await ended;
    expect(trailers["grpc-status"]).toBe(INTERNAL);
  } finally {
    session.destroy();
  }
});
