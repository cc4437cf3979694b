import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createTokenBucket } from "../../../../src/wire/transport/layers/rate-limit.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../../support/virtual-runtime.js";

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

/** Take what there is without a wait, and count it. */
function takeAll(bucket: ReturnType<typeof createTokenBucket>): number {
  let taken = 0;
  for (; bucket.waitMs() === 0 && taken < 1000; taken += 1) {
    bucket.take();
  }
  return taken;
}

describe("a bucket", () => {
  it("is full at first: it holds the calls of a second", () => {
    expect(takeAll(createTokenBucket(20))).toBe(20);
  });

  it("holds as many as it is told, but at least one", () => {
    expect(takeAll(createTokenBucket(20, 3))).toBe(3);
    expect(takeAll(createTokenBucket(5, 0.5))).toBe(1);
    expect(takeAll(createTokenBucket(0.5))).toBe(1);
  });

  it("is filled at its rate, and no further than full", () => {
    const bucket = createTokenBucket(10);
    takeAll(bucket);
    runtime.skip(300);
    expect(takeAll(bucket)).toBe(3);
    runtime.skip(60_000);
    expect(takeAll(bucket)).toBe(10);
  });

  it("tells the wait for the next call, in whole milliseconds", () => {
    const bucket = createTokenBucket(3, 1);
    expect(bucket.waitMs()).toBe(0);
    bucket.take();
    expect(bucket.waitMs()).toBe(334);
    runtime.skip(333);
    expect(bucket.waitMs()).toBe(1);
    runtime.skip(1);
    expect(bucket.waitMs()).toBe(0);
  });

  it("counts what is taken ahead of its time", () => {
    const bucket = createTokenBucket(10, 1);
    bucket.take();
    bucket.take();
    bucket.take();
    expect(bucket.waitMs()).toBe(300);
  });

  it("is filled before a call is taken, so that time counts once", () => {
    const bucket = createTokenBucket(10, 2);
    runtime.skip(1000);
    bucket.take();
    expect(takeAll(bucket)).toBe(1);
  });

  it("tells the time in which calls are added", () => {
    const bucket = createTokenBucket(4);
    expect([bucket.msFor(1), bucket.msFor(6), bucket.msFor(0)]).toEqual([250, 1500, 0]);
  });
});

describe("a bucket that is corrected", () => {
  it("holds what is known where that is exact", () => {
    const bucket = createTokenBucket(10);
    bucket.correct(10, 4, true);
    expect(takeAll(bucket)).toBe(4);
    bucket.correct(10, 7, true);
    expect(takeAll(bucket)).toBe(7);
  });

  it("is only lowered by what is not exact", () => {
    const bucket = createTokenBucket(10);
    bucket.correct(10, 4, false);
    expect(takeAll(bucket)).toBe(4);
    bucket.correct(10, 7, false);
    expect(takeAll(bucket)).toBe(0);
  });

  it("takes the new rate from then on, and the old one for the time before", () => {
    const bucket = createTokenBucket(10, 100);
    takeAll(bucket);
    runtime.skip(1000);
    bucket.correct(50, 60, false);
    expect(takeAll(bucket)).toBe(10);
    runtime.skip(1000);
    expect(takeAll(bucket)).toBe(50);
    expect(bucket.msFor(1)).toBe(20);
  });

  it("can hold more once more was known", () => {
    const bucket = createTokenBucket(10);
    bucket.correct(10, 30, true);
    runtime.skip(60_000);
    expect(takeAll(bucket)).toBe(30);
    bucket.correct(10, 5, true);
    runtime.skip(60_000);
    expect(takeAll(bucket)).toBe(30);
  });
});
