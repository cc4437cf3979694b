import { createContextValues } from "@connectrpc/connect";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createClient, RequestError, type RetryInfo } from "tradewire";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { frame, type GrpcAnswer, startGrpcServer } from "../../../support/grpc-server.js";
import { say } from "../../../support/probe.js";

const SAY = "test.Probe/Say";
const OK: GrpcAnswer = { pieces: [frame(new Uint8Array())], ending: { "grpc-status": "0" } };
const BUSY: GrpcAnswer = { ending: { "grpc-status": "14" } };
const probe = say.parent;

const node = await startGrpcServer();
afterAll(() => node.close());
beforeEach(() => {
  node.calls.length = 0;
  node.answer = () => (node.calls.length === 1 ? BUSY : OK);
});

const connect = (retry: { readonly methods?: readonly string[] } = {}) =>
  createClient({ grpc: { url: node.url }, retry: { baseMs: 1, maxMs: 1, ...retry } });

/** Calls a method of a service that only its name tells apart from others. */
async function sayOver(client: ReturnType<typeof connect>, options?: { readonly retry?: boolean }) {
  const call: unknown = Reflect.get(client.service(probe), "say");
  if (typeof call !== "function") {
    throw new Error("there is no method say");
  }
  return await call({ value: "a" }, options);
}

describe("a call whose definition does not say that it reads", () => {
  it("is repeated if its caller says so, and only that call", async () => {
    await using client = connect();
    await sayOver(client, { retry: true });
    expect(node.calls).toHaveLength(2);
    node.calls.length = 0;
    await expect(sayOver(client)).rejects.toMatchObject({ name: "NodeError" });
    expect(node.calls).toHaveLength(1);
  });

  it("is repeated if retry.methods names it, unless its caller says no", async () => {
    await using client = connect({ methods: [SAY] });
    await sayOver(client);
    expect(node.calls).toHaveLength(2);
    node.calls.length = 0;
    await expect(sayOver(client, { retry: false })).rejects.toMatchObject({ name: "NodeError" });
    expect(node.calls).toHaveLength(1);
  });
});

it("what a caller says of a call stays with that call, though others share its context values", async () => {
  await using client = connect();
  const contextValues = createContextValues();
  const core = client.service(CoreService);
  await core.lastBlockHeight({}, { retry: true, contextValues });
  node.calls.length = 0;
  await core.lastBlockHeight({}, { contextValues });
  expect(node.calls).toHaveLength(2);
  node.calls.length = 0;
  await expect(core.lastBlockHeight({}, { retry: false, contextValues })).rejects.toMatchObject({ name: "NodeError" });
});

describe("retry.methods", () => {
  it.each([
    ["vega.api.v1.CoreService/CheckTransactions", "Did you mean vega.api.v1.CoreService/CheckTransaction?"],
    ["vega.api.v1.CoreService/ObserveEventBus", "streamed requests cannot be retried."],
  ])("refuses %s", (name, advice) => {
    expect(() => connect({ methods: [name] }).service(CoreService)).toThrow(RequestError);
    expect(() => connect({ methods: [name] }).service(CoreService)).toThrow(advice);
  });

  it("holds the names of a service's methods to its definitions", () => {
    const client = connect({ methods: ["test.Probe/Speak"] });
    expect(() => client.service(probe)).toThrow("retry.methods names the unknown method test.Probe/Speak");
    expect(() => client.service(CoreService)).not.toThrow();
  });

  it.each(["Say", "test.Probe", "/test.Probe/Say", "test.Probe/Say/"])("takes full names only: %s", (name) => {
    expect(() => connect({ methods: [name] })).toThrow("must be the full name of a method, such as");
  });
});

it("a node where half the calls fail gets at most a tenth more calls in the long run", async () => {
  node.answer = () => (node.calls.length % 2 === 1 ? BUSY : OK);
  const retries: RetryInfo[] = [];
  await using client = createClient(
    { grpc: { url: node.url }, retry: { baseMs: 1, maxMs: 1 } },
    { hooks: { onRetry: (retry) => retries.push(retry) } },
  );
  const core = client.service(CoreService);
  const CALLS = 2000;
  for (let call = 0; call < CALLS; call += 50) {
    await Promise.all(Array.from({ length: 50 }, () => core.lastBlockHeight({}).catch(() => undefined)));
  }
  expect(retries.length).toBeGreaterThan(40); // The budget allows some.
  expect(node.calls.length).toBe(CALLS + retries.length);
  expect(node.calls.length).toBeLessThanOrEqual(CALLS * 1.1);
});
