import { setImmediate as turn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { CanceledError, ConnectionError, createClient, type Hooks, RequestError } from "tradewire";
import { isolateHooks } from "../../../src/wire/transport/hooks.js";
import { takeWarnings, type Warnings } from "../../support/warnings.js";

const call = { id: 1, method: "test.Probe/Read", transport: "grpc" };
const end = { durationMs: 3, messages: 1 };
const retry = { id: 1, method: "test.Probe/Read", attempt: 1, delayMs: 5, error: new CanceledError() };
const wait = { id: 1, method: "test.Probe/Read", waitMs: 5, reason: "the server refused a call" } as const;
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

let warnings: Warnings;
beforeEach(() => {
  warnings = takeWarnings();
});
afterEach(() => {
  warnings[Symbol.dispose]();
});

/** The warnings that were told. Node tells them in the next tick. */
async function told(): Promise<readonly string[]> {
  await turn();
  return warnings.told;
}

/** Hooks of the caller, of one kind, as methods of an object. */
function hooksOf(kind: keyof Hooks, act: (...args: unknown[]) => unknown): Hooks {
  return Object.fromEntries([[kind, act]]);
}

describe.each(kinds)("the hook %s", (kind, tell, expected) => {
  it("is called as a method of the caller's object, with what it is told", async () => {
    const seen: unknown[] = [];
    const hooks = hooksOf(kind, function (this: unknown, ...args) {
      seen.push(this, args);
    });
    tell(isolateHooks(hooks));
    expect(seen).toEqual([hooks, expected]);
    expect(seen[0]).toBe(hooks);
    expect(await told()).toEqual([]);
  });

  it("that throws becomes a warning, once", async () => {
    const observed = isolateHooks(
      hooksOf(kind, () => {
        throw new Error("oops");
      }),
    );
    tell(observed);
    tell(observed);
    expect(await told()).toEqual([
      `TradewireWarning: the hook ${kind} threw an error, which does not affect calls: Error: oops`,
    ]);
  });

  it("that fails later becomes a warning, once", async () => {
    const observed = isolateHooks(hooksOf(kind, () => Promise.reject(new Error("later"))));
    tell(observed);
    tell(observed);
    await new Promise(setImmediate);
    expect(await told()).toEqual([
      `TradewireWarning: the hook ${kind} threw an error, which does not affect calls: Error: later`,
    ]);
  });

  it("stays out where the caller has left it out", async () => {
    expect(isolateHooks({})).toEqual({});
    expect(Object.keys(isolateHooks(hooksOf(kind, () => undefined)))).toEqual([kind]);
  });
});

it.each([null, undefined, 0, "text"])("a hook may return %p", async (result) => {
  isolateHooks(hooksOf("onCallStart", () => result)).onCallStart?.(call);
  await new Promise(setImmediate);
  expect(await told()).toEqual([]);
});

it("each kind of hook warns once", async () => {
  const oops = () => {
    throw new Error("oops");
  };
  const observed = isolateHooks(Object.fromEntries(kinds.map(([kind]) => [kind, oops])));
  for (const [, tell] of kinds) {
    tell(observed);
    tell(observed);
  }
  expect((await told()).map((message) => message.split(" ")[3])).toEqual(kinds.map(([kind]) => kind));
});

it("hooks that are not functions are refused by name, unless a condition has left them out", () => {
  const connect = (hooks: object) => createClient({ grpc: { url: "http://127.0.0.1:1" } }, { hooks });
  expect(() => connect({ onRetry: "x" })).toThrow(RequestError);
  expect(() => connect({ onRetry: "x" })).toThrow("hooks.onRetry must be a function");
  expect(() => connect({ onRetry: null, onBytes: false, onWait: undefined })).not.toThrow();
});
