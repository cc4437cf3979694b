import { expect, test } from "@jest/globals";
import { createClient, signerFromMnemonic } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { openMarket } from "../../support/devnode.js";
import { stopOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

/** What a client and a local node do in one process, beginning with a seed: all waits, identifiers and answers. */
async function play(seed: number) {
  using runtime = useVirtualRuntime({ seed, io: true });
  const startedAt = runtime.monotonicMs();
  const seen: unknown[] = [];
  await using node = await startDevnode({ blockMs: 1000, segments: 1, blocksPerSegment: 10, activity: 2 });
  const endpoints = { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
  const retry = { tries: 5, baseMs: 2000, maxMs: 60_000 };
  await using client = createClient(
    { transport: "auto", ...endpoints, retry },
    {
      hooks: {
        onRetry: ({ method, attempt, delayMs }) => seen.push({ method, attempt, delayMs, at: runtime.monotonicMs() }),
      },
    },
  );
  using signer = await signerFromMnemonic(node.mnemonic);

  // Each attempt is made over both transports.
  node.failNext({ method: "LastBlockHeight", with: "UNAVAILABLE", times: 4 });
  const { height } = await runtime.until(client.lastBlockHeight());
  // A stream that is cut, and opened again.
  node.failNext({ method: "ObserveEventBus", with: "cut", afterBytes: 2000 });
  const ids: unknown[] = [];
  const events = client.events({ types: ["trade"], marketId: openMarket }, { reconnect: true });
  const reading = (async () => {
    for await (const event of events) {
      ids.push("id" in event ? event.id : event);
      if (ids.length === 12) {
        return;
      }
    }
  })();
  await runtime.until(reading);
  // A transaction with a random identifier and nonce.
  const sent = await runtime.until(client.sendCommand(stopOrder(), { signer, until: "executed" }));
  seen.push(height, ids, sent);
  await runtime.pass(6000); // The threads that found the proof of work end once they were idle for 5 seconds.
  return { seen, waits: runtime.waits, tookMs: runtime.monotonicMs() - startedAt };
}

test("a client and a node do the same from one seed, over many seconds of their own", async () => {
  const other = await play(8); // It loads what is loaded when it is needed, which takes real time.
  const first = await play(7);
  const lastBlockHeight = "vega.api.v1.CoreService/LastBlockHeight";
  expect(first.seen).toContainEqual(expect.objectContaining({ method: lastBlockHeight, attempt: 2 }));
  expect(first.tookMs).toBeGreaterThan(10_000);
  expect(await play(7)).toEqual(first);
  expect(other.seen).not.toEqual(first.seen);
});
