import { Code, ConnectError, createRouterTransport, type Interceptor, type Transport } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { limited } from "tradewire/transport";
import {
  callerErrorIn,
  markInterceptorErrors,
  withRequestErrors,
} from "../../../../src/wire/transport/layers/caller-errors.js";
import {
  type Answer,
  ask,
  broken,
  listen,
  memoryTransport,
  reasonOf,
  texts,
} from "../../../support/memory-transport.js";
import { talk } from "../../../support/probe.js";

const kinds = [
  ["unary", ask],
  ["stream", listen],
] as const;

/** A transport with interceptors of the caller. */
function intercepted(play: () => Answer | Promise<Answer>, ...interceptors: Interceptor[]): Transport {
  const options = { url: "http://node.example", timeouts: { callMs: 60_000 } };
  return limited(memoryTransport(play), { ...options, interceptors: interceptors.map(markInterceptorErrors) });
}

const here = () => texts("here");
const passing: Interceptor = (next) => (req) => next(req);

/** Interceptors that throw before the call, after it, and among its messages. */
function throwing(reason: unknown): Record<string, Interceptor> {
  async function* thenThrowing<T>(messages: AsyncIterable<T>) {
    yield* messages;
    throw reason;
  }
  return {
    "at once": () => () => {
      throw reason;
    },
    before: () => () => Promise.reject(reason),
    after: (next) => async (req) => {
      await next(req);
      throw reason;
    },
    "among the messages": (next) => async (req) => {
      const response = await next(req);
      return response.stream ? { ...response, message: thenThrowing(response.message) } : Promise.reject(reason);
    },
  };
}

describe.each(kinds)("what a caller's interceptor throws (%s)", (_, make) => {
  const cases = [
    new Error("no token"),
    new ConnectError("no token", Code.Unauthenticated),
    Object.assign(new TypeError("oops"), { code: 1 }),
  ].flatMap((reason) => Object.entries(throwing(reason)).map(([when, thrower]) => [when, reason, thrower] as const));

  it.each(cases)("%s is known as the caller's: %s", async (_, reason, interceptor) => {
    expect(callerErrorIn(await reasonOf(make(intercepted(here, interceptor))))).toBe(reason);
    expect(callerErrorIn(await reasonOf(make(intercepted(here, passing, interceptor, passing))))).toBe(reason);
  });
});

describe.each(kinds)("what the call throws (%s)", (_, make) => {
  it("is not the caller's, at once or among the messages", async () => {
    for (const play of [
      () => Promise.reject(new Error("no connection")),
      () => broken(new ConnectError("lost", Code.Unavailable)),
    ]) {
      expect(callerErrorIn(await reasonOf(make(intercepted(play, passing, passing))))).toBeUndefined();
    }
  });

  it("is not the caller's where an interceptor throws it again", async () => {
    const again: Interceptor = (next) => (req) => next(req).catch((reason: unknown) => Promise.reject(reason));
    const lost = new ConnectError("lost", Code.Unavailable);
    expect(callerErrorIn(await reasonOf(make(intercepted(() => Promise.reject(lost), again))))).toBeUndefined();
  });

  it("is the caller's where an interceptor throws another for it", async () => {
    const mine = new Error("mine");
    const other: Interceptor = (next) => (req) => next(req).catch(() => Promise.reject(mine));
    const failure = await reasonOf(make(intercepted(() => Promise.reject(new Error("lost")), other, passing)));
    expect(callerErrorIn(failure)).toBe(mine);
  });
});

it("calls that succeed pass as they are", async () => {
  expect(await ask(intercepted(here, passing))).toBe("here");
  expect(await listen(intercepted(() => texts("a", "b"), passing))).toEqual(["a", "b"]);
});

it.each([undefined, null, "text", 7, { a: 1 }, new Error("any"), new ConnectError("any", Code.Unknown)])(
  "%p, which nobody has thrown, is not the caller's",
  (reason) => {
    expect(callerErrorIn(reason)).toBeUndefined();
  },
);

it.each(["no object", undefined, null])("interceptors may throw %p", async (reason) => {
  const failure = await reasonOf(ask(intercepted(here, () => () => Promise.reject(reason))));
  expect(failure).toBeInstanceOf(ConnectError);
  expect(callerErrorIn(failure)).toBeUndefined();
  expect(callerErrorIn(await reasonOf(ask(intercepted(() => Promise.reject(reason), passing))))).toBeUndefined();
});

/** A transport to a service that returns each request. */
function echo() {
  const router = createRouterTransport(({ rpc }) => {
    rpc(talk, async function* echoed(requests) {
      for await (const { value } of requests) {
        yield { value };
      }
    });
  });
  return withRequestErrors({
    unary: router.unary,
    stream: router.stream,
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  });
}

async function* saying(values: readonly string[], reason?: unknown) {
  for (const value of values) {
    yield { value };
  }
  if (reason !== undefined) {
    throw reason;
  }
}

async function read(requests: AsyncIterable<{ value: string }>, signal?: AbortSignal) {
  const response = await echo().stream(talk, signal, undefined, undefined, requests);
  const heard: string[] = [];
  for await (const { value } of response.message) {
    heard.push(value);
  }
  return heard;
}

it("a call whose requests end receives all responses", async () => {
  expect(await read(saying(["a", "b"]))).toEqual(["a", "b"]);
});

it.each([[new Error("no more")], [new TypeError("oops")]])(
  "a call fails with what its requests throw: %s",
  async (reason) => {
    const failure = await read(saying(["a"], reason)).catch((error: unknown) => error);
    expect(failure).toBe(reason);
    expect(callerErrorIn(failure)).toBe(reason);
  },
);

it("a reason that is no object passes, but cannot be told from others", async () => {
  const failure = await read(saying([], "text")).catch((error: unknown) => error);
  expect([failure, callerErrorIn(failure)]).toEqual(["text", undefined]);
});

it("what requests throw after the call was aborted is not the caller's error", async () => {
  const ending = new AbortController();
  const reason = new Error("late");
  async function* requests() {
    yield { value: "a" };
    ending.abort();
    throw reason;
  }
  const failure = await read(requests(), ending.signal).catch((error: unknown) => error);
  expect(failure).not.toBe(reason);
  expect(callerErrorIn(failure)).toBeUndefined();
});
