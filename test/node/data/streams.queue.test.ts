import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { createStreams, MAX_BUFFERED_RECORDS } from "../../../src/node/data/streams.js";
import { blockAt, happeningsOf, trade } from "../living-world.js";

describe("a reader of a stream", () => {
  const watching = (slowReaderError?: () => ConnectError | undefined) => {
    const streams = createStreams();
    const abort = new AbortController();
    const stream = streams.watch({
      subject: "event",
      signal: abort.signal,
      snapshot: () => ["snapshot"],
      select: (happenings) => happenings.map(({ block, sequence }) => `${block.height}-${sequence}`),
      message: (records) => records.join(),
      ...(slowReaderError && { slowReaderError }),
    });
    let height = 10n;
    const publish = (count: number) => {
      height += 1n;
      const events = Array.from({ length: count }, () => ({ case: "trade" as const, value: trade(1) }));
      streams.publish(blockAt(height), happeningsOf(height, events));
    };
    return { streams, abort, stream, publish };
  };

  test("who pauses gets all that came, block by block", async () => {
    const { stream, publish } = watching();
    expect(await stream.next()).toEqual({ done: false, value: "snapshot" });
    publish(2);
    publish(0);
    publish(1);
    expect(await stream.next()).toEqual({ done: false, value: "11-1,11-2" });
    publish(1);
    expect(await stream.next()).toEqual({ done: false, value: "13-1" });
    expect(await stream.next()).toEqual({ done: false, value: "14-1" });
    const waiting = stream.next();
    publish(1);
    expect(await waiting).toEqual({ done: false, value: "15-1" });
  });

  test("who is too slow is ended, and nothing waits for it any more", async () => {
    const { stream, publish, streams } = watching();
    await stream.next();
    publish(MAX_BUFFERED_RECORDS - 1);
    publish(1);
    publish(1);
    await expect(stream.next()).rejects.toMatchObject({ code: Code.Internal });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(streams.open("event")).toBe(0);
  });

  test("who keeps within the limit is not", async () => {
    const { stream, publish } = watching();
    await stream.next();
    publish(MAX_BUFFERED_RECORDS - 1);
    publish(1);
    await stream.next();
    publish(MAX_BUFFERED_RECORDS - 1);
    expect((await stream.next()).value).toBe("12-1");
    expect((await stream.next()).value).toMatch(/^13-1,/);
  });

  test("a block of more than the limit reaches who waits for it", async () => {
    const { stream, publish } = watching();
    await stream.next();
    const waiting = stream.next();
    publish(MAX_BUFFERED_RECORDS + 1);
    expect((await waiting).value?.split(",")).toHaveLength(MAX_BUFFERED_RECORDS + 1);
  });

  test("who is too slow may be ended in another way", async () => {
    const gentle = watching(() => undefined);
    await gentle.stream.next();
    gentle.publish(1);
    gentle.publish(MAX_BUFFERED_RECORDS);
    expect(await gentle.stream.next()).toEqual({ done: true, value: undefined });
    const harsh = watching(() => new ConnectError("gone", Code.Aborted));
    await harsh.stream.next();
    harsh.publish(1);
    harsh.publish(MAX_BUFFERED_RECORDS);
    await expect(harsh.stream.next()).rejects.toMatchObject({ code: Code.Aborted });
  });

  test("is counted from its first read until it ends the stream", async () => {
    const { stream, abort, streams } = watching();
    expect(streams.open("event")).toBe(0);
    await stream.next();
    expect([streams.open("event"), streams.open("order")]).toEqual([1, 0]);
    const waiting = stream.next();
    abort.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(streams.open("event")).toBe(0);
  });

  test("who never reads gets nothing kept", async () => {
    const { stream, publish } = watching();
    publish(1);
    expect((await stream.next()).value).toBe("snapshot");
    publish(1);
    expect((await stream.next()).value).toBe("12-1");
  });
});
