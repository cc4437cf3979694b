import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { CanceledError, ConnectionError, type Hooks } from "tradewire";
import { observing } from "../../../src/transport/layers/observing.js";

const call = { id: 1, method: "test.Probe/Read", transport: "grpc" };
const end = { durationMs: 3, messages: 1 };
const retry = { id: 1, method: "test.Probe/Read", attempt: 1, delayMs: 5, error: new CanceledError() };
const wait = { id: 1, method: "test.Probe/Read", waitMs: 5, reason: "the node refused a call" } as const;
const error = new ConnectionError("lost", { code: Code.Unavailable, advice: "Look." });
const fallback = { id: 1, method: "test.Probe/Read", from: "grpc", to: "rest", error };

const kinds: readonly [keyof Hooks, (hooks: Hooks) => void, readonly unknown[]][] = [
  ["onCallStart", (hooks) => hooks.onCallStart?.(call), [call]],
  ["onBytes", (hooks) => hooks.onBytes?.(call, 7), [call, 7]],
  ["onCallEnd", (hooks) => hooks.onCallEnd?.(call, end), [call, end]],
  ["onRetry", (hooks) => hooks.onRetry?.(retry), [retry]],
  ["onWait", (hooks) => hooks.onWait?.(wait), [wait]],
  ["onFallback", (hooks) => hooks.onFallback?.(fallback), [fallback]],
];

let warnings: unknown[][] = [];
beforeEach(() => {
  warnings = [];
  jest.spyOn(process, "emitWarning").mockImplementation((...warning: unknown[]) => {
    warnings.push(warning);
  });
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** Hooks of the caller, of one kind, as methods of an object. */
function hooksOf(kind: keyof Hooks, act: (...args: unknown[]) => unknown): Hooks {
  return Object.fromEntries([[kind, act]]);
}

describe.each(kinds)("the hook %s", (kind, tell, expected) => {
  it("is called as a method of the caller's object, with what it is told", () => {
    const seen: unknown[] = [];
    const hooks = hooksOf(kind, function (this: unknown, ...args) {
      seen.push(this, args);
    });
    tell(observing(hooks));
    expect(seen).toEqual([hooks, expected]);
    expect(seen[0]).toBe(hooks);
    expect(warnings).toEqual([]);
  });

  it("that throws becomes a warning, once", () => {
    const observed = observing(
      hooksOf(kind, () => {
        throw new Error("oops");
      }),
    );
    tell(observed);
    tell(observed);
    expect(warnings).toEqual([[`the hook ${kind} threw, which changes no call: Error: oops`, "TradewireWarning"]]);
  });

  it("that fails later becomes a warning, once", async () => {
    const observed = observing(hooksOf(kind, () => Promise.reject(new Error("later"))));
    tell(observed);
    tell(observed);
    await new Promise(setImmediate);
    expect(warnings).toEqual([[`the hook ${kind} threw, which changes no call: Error: later`, "TradewireWarning"]]);
  });

  it("stays out where the caller has left it out", () => {
    expect(observing({})).toEqual({});
    expect(Object.keys(observing(hooksOf(kind, () => undefined)))).toEqual([kind]);
  });
});

it.each([null, undefined, 0, "text"])("a hook may return %p", async (result) => {
  observing(hooksOf("onCallStart", () => result)).onCallStart?.(call);
  await new Promise(setImmediate);
  expect(warnings).toEqual([]);
});

it("each kind of hook warns once", () => {
  const oops = () => {
    throw new Error("oops");
  };
  const observed = observing(Object.fromEntries(kinds.map(([kind]) => [kind, oops])));
  for (const [, tell] of kinds) {
    tell(observed);
    tell(observed);
  }
  expect(warnings.map(([message]) => String(message).split(" ")[2])).toEqual(kinds.map(([kind]) => kind));
});
