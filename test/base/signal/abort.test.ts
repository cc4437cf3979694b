import { getEventListeners } from "node:events";
import { expect, it } from "@jest/globals";
import { linkedController, onAbort } from "../../../src/base/signal/abort.js";

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

it("tells all that follow a signal, each once, by one listener", () => {
  const abort = new AbortController();
  const told: number[] = [];
  for (let number = 0; number < 20; number += 1) {
    onAbort(abort.signal, () => told.push(number));
  }
  expect(listeners(abort.signal)).toBe(1);
  abort.abort();
  expect(told).toEqual(Array.from({ length: 20 }, (_, number) => number));
});

it("does not tell who has stopped following, not even where another stops it meanwhile", () => {
  const abort = new AbortController();
  const told: string[] = [];
  onAbort(abort.signal, () => leaves.map((leave) => leave()));
  const leaves = ["a", "b"].map((name) => onAbort(abort.signal, () => told.push(name)));
  onAbort(abort.signal, () => told.push("c"));
  abort.abort();
  expect(told).toEqual(["c"]);
});

it("leaves nothing at a signal that nothing follows any more, and can be followed again", () => {
  const abort = new AbortController();
  const same = () => told.push("told");
  const told: string[] = [];
  const leaves = [onAbort(abort.signal, same), onAbort(abort.signal, same)];
  leaves[0]?.();
  leaves[0]?.();
  expect(listeners(abort.signal)).toBe(1);
  leaves[1]?.();
  expect(listeners(abort.signal)).toBe(0);
  onAbort(abort.signal, same);
  abort.abort();
  expect(told).toEqual(["told"]);
});

it("has nothing to follow where there is no signal, or one that was aborted before", () => {
  const told: string[] = [];
  for (const signal of [undefined, AbortSignal.abort()]) {
    onAbort(signal, () => told.push("told"))();
  }
  expect(told).toEqual([]);
});

it("aborts a controller for the signal's reason, also where that was aborted before", () => {
  const reason = new Error("enough");
  const abort = new AbortController();
  const before = linkedController(abort.signal);
  abort.abort(reason);
  expect([before.signal.reason, linkedController(abort.signal).signal.reason]).toEqual([reason, reason]);
  expect(linkedController(undefined).signal.aborted).toBe(false);
});

it("leaves nothing at the signal of a controller that was aborted itself", () => {
  const { signal } = new AbortController();
  const controller = linkedController(signal);
  expect(listeners(signal)).toBe(1);
  controller.abort();
  expect(listeners(signal)).toBe(0);
});
