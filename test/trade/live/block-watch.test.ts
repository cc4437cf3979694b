import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { ConnectionError, NodeError } from "tradewire";
import { TransactionResultSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { createBlockWatch, type ResultObserver, type WatchedEvent } from "../../../src/trade/live/block-watch.js";
import { eventually } from "../../support/eventually.js";

const end = (block: bigint): WatchedEvent => ({ kind: "endBlock", block });
const result = (block: bigint, hash: string): WatchedEvent => ({
  kind: "transactionResult",
  block,
  value: create(TransactionResultSchema, { hash }),
});
const retry = { tries: 1, baseMs: 1, maxMs: 1 };
const lost = () => new ConnectionError("lost", { code: Code.Unavailable, advice: "", connected: true });

const watchOf = (...given: readonly [Parameters<typeof createBlockWatch>[0], Parameters<typeof createBlockWatch>[1]]) =>
  createBlockWatch(...given, () => undefined);

/** What an observer was told. */
function observer(...hashes: string[]) {
  const told: string[] = [];
  const observing: ResultObserver = {
    result({ hash }, block) {
      if (hashes.includes(hash.toUpperCase())) {
        told.push(`seen ${hash} in ${block}`);
      }
    },
    stopOrder: () => undefined,
    ended: (block) => told.push(`ended ${block}`),
    missed: (from, to) => told.push(`missed ${from ?? ""}-${to}`),
    failed: (error) => told.push(`failed ${error instanceof Error ? error.name : ""}`),
  };
  return { told, observing };
}

/** Opens the streams one after the other; each ends with a loss. The last one goes on. */
function streams(...all: readonly (readonly WatchedEvent[])[]) {
  const left = [...all];
  return async function* (signal: AbortSignal): AsyncGenerator<WatchedEvent> {
    yield* left.shift() ?? [];
    if (left.length > 0) {
      throw lost();
    }
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };
}

describe("a watch of blocks", () => {
  test("tells results, the ends of blocks, and which blocks may not have come whole", async () => {
    const { told, observing } = observer("AA", "BB");
    const watch = watchOf(
      streams(
        [end(7n), result(8n, "aa"), end(8n), end(8n), end(9n), end(12n), result(13n, "cc")],
        [result(14n, "bb"), end(14n), end(15n)],
      ),
      retry,
    );
    const stop = watch.observe(observing);
    await eventually(() => told.includes("ended 15"));
    stop();
    watch.close();
    expect(told).toEqual([
      ...["missed -7", "ended 7", "seen aa in 8", "ended 8", "ended 9", "missed 10-11", "ended 12"],
      ...["seen bb in 14", "missed 13-14", "ended 14", "ended 15"],
    ]);
  });

  test("is ready when a block has ended, and not again before another one has on a new stream", async () => {
    const watch = watchOf(streams([], [end(1n)]), retry);
    await expect(watch.ready(new AbortController().signal)).rejects.toThrow("lost");
    await watch.ready(new AbortController().signal);
    watch.close();
  });

  test("is tried as often as calls that read", async () => {
    const watch = watchOf(streams([], [], [end(1n)]), { ...retry, tries: 3 });
    await watch.ready(new AbortController().signal);
    watch.close();
    const again = watchOf(streams([], [], [end(1n)]), { ...retry, tries: 2 });
    await expect(again.ready(new AbortController().signal)).rejects.toThrow("lost");
    again.close();
  });

  test("fails for all who wait where the node does not offer the events", async () => {
    const refuse = async function* (): AsyncGenerator<WatchedEvent> {
      yield* [];
      throw new NodeError({ code: Code.Unimplemented, message: "no such method", details: [] });
    };
    const { told, observing } = observer("AA");
    const watch = watchOf(refuse, retry);
    const stop = watch.observe(observing);
    await expect(watch.ready(new AbortController().signal)).rejects.toThrow(NodeError);
    expect(told).toEqual(["failed NodeError"]);
    stop();
  });

  test("begins anew where the blocks of a stream are lower than before", async () => {
    const { told, observing } = observer("AA");
    const watch = watchOf(streams([end(100n), end(101n)], [end(5n), end(6n)]), retry);
    const stop = watch.observe(observing);
    await eventually(() => told.includes("ended 6"));
    stop();
    watch.close();
    expect(told).toEqual(["missed -100", "ended 100", "ended 101", "missed -5", "ended 5", "ended 6"]);
  });

  test("tells of each block that its results came, or that they may not have", async () => {
    const cuts = fc.array(fc.record({ lost: fc.nat(3), from: fc.nat(2), length: fc.nat(5) }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(cuts, async (all) => {
        // Each block has one result and its end. A stream begins anywhere among them, and breaks off anywhere.
        const chain = Array.from({ length: 60 }, (_, index) => BigInt(index + 1)).flatMap((block) => [
          result(block, `R${block}`),
          end(block),
        ]);
        let at = 0;
        const parts = all.map(({ lost: missing, from, length }) => {
          at += missing + from;
          const part = chain.slice(at, at + length);
          at += length;
          return part;
        });
        const hashes = Array.from({ length: 60 }, (_, index) => `R${index + 1}`);
        const { told, observing } = observer(...hashes);
        const watch = watchOf(streams(...parts, chain.slice(at + 1)), retry);
        const stop = watch.observe(observing);
        await eventually(() => told.includes("ended 60"));
        stop();
        watch.close();
        const missed = told.flatMap((text) => {
          const [, from, to] = /^missed (\d*)-(\d+)$/.exec(text) ?? [];
          return to === undefined ? [] : [{ from: BigInt(from || 1), to: BigInt(to) }];
        });
        for (const hash of hashes) {
          const block = BigInt(hash.slice(1));
          const seen = told.filter((text) => text === `seen ${hash} in ${block}`).length;
          const isMissed = missed.some(({ from, to }) => from <= block && block <= to);
          expect(seen === 1 || (seen === 0 && isMissed)).toBe(true);
        }
      }),
      { numRuns: 20 },
    );
  });
});
