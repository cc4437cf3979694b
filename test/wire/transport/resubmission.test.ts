import type { DescMessage } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Client, createClient, type Hooks, OutcomeUnknownError, RequestError } from "tradewire";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { startGrpcServer } from "../../support/grpc-server.js";
import { startRawHttp } from "../../support/raw-http.js";

// A node that reads a transaction and drops the connection.
const node = await startGrpcServer();
const gateway = await startRawHttp();
node.answer = { ending: "destroy" };
gateway.answer = { pieces: [], ending: "reset" };
afterAll(() => Promise.all([node.close(), gateway.close()]));
beforeEach(() => {
  node.calls.length = 0;
  gateway.requests.length = 0;
});

const received = () => node.calls.length + gateway.requests.length;
const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );

const names = ["grpc", "grpc-js", "rest", "auto"] as const;
const patient = { tries: 5, baseMs: 1, maxMs: 1, maxTokens: 1000, tokenRatio: 1 };

async function withClient<T>(
  transport: (typeof names)[number],
  use: (client: Client) => Promise<T>,
  endpoints = { grpc: { url: node.url }, rest: { url: gateway.url } },
  hooks: Hooks = {},
) {
  await using client = createClient({ transport, retry: patient, ...endpoints }, { hooks });
  return await use(client);
}

describe.each(names)("a transaction over %s", (transport) => {
  it("reaches the node once, however often calls are tried", async () => {
    expect(await withClient(transport, (client) => failureOf(client.submitTransaction({ tx: {} })))).toBeInstanceOf(
      OutcomeUnknownError,
    );
    expect(received()).toBe(1);
    const { submitTransaction, submitRawTransaction, propagateChainEvent } = CoreService.method;
    for (const method of [submitTransaction, submitRawTransaction, propagateChainEvent]) {
      const before = received();
      await withClient(transport, ({ transport: calls }) =>
        failureOf(calls.unary<DescMessage, DescMessage>(method, undefined, undefined, undefined, {})),
      );
      const hasPath = transport !== "rest" || method !== propagateChainEvent;
      expect([method.name, received() - before]).toEqual([method.name, hasPath ? 1 : 0]);
    }
  });

  it("reaches the node once, even if definitions say that it may be repeated", async () => {
    const { submitTransaction } = CoreService.method;
    for (const idempotency of [
      MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
      MethodOptions_IdempotencyLevel.IDEMPOTENT,
    ]) {
      const before = received();
      const method = { ...submitTransaction, idempotency };
      await withClient(transport, (client) =>
        failureOf(client.transport.unary(method, undefined, undefined, undefined, {})),
      );
      expect(received() - before).toBe(1);
    }
  });

  it("is refused with retry: true, and nothing is sent", async () => {
    const calls = (client: Client) => {
      const core = client.service(CoreService);
      return Promise.all([
        failureOf(core.submitTransaction({}, { retry: true })),
        failureOf(core.submitRawTransaction({}, { retry: true })),
        failureOf(core.propagateChainEvent({}, { retry: true })),
      ]);
    };
    for (const error of await withClient(transport, calls)) {
      expect(error).toBeInstanceOf(RequestError);
      expect(String(error)).toContain("transactions are never retried");
    }
    expect(received()).toBe(0);
  });

  it("is no method of retry.methods", () => {
    for (const name of ["SubmitTransaction", "SubmitRawTransaction", "PropagateChainEvent"]) {
      const retry = { methods: [`vega.api.v1.CoreService/${name}`] };
      expect(() => createClient({ transport, grpc: { url: node.url }, rest: { url: gateway.url }, retry })).toThrow(
        "must not be a method that submits transactions",
      );
    }
  });

  it("is tried again while no connection can be made, since nothing of it is sent", async () => {
    const [later, laterGateway] = await Promise.all([startGrpcServer(), startRawHttp()]);
    const endpoints = { grpc: { url: later.url }, rest: { url: laterGateway.url } };
    await Promise.all([later.close(), laterGateway.close()]);
    let retries = 0;
    const hooks: Hooks = {
      onRetry({ error }) {
        expect(error).toMatchObject({ connected: false });
        retries += 1;
      },
    };
    const submit = (client: Client) => failureOf(client.submitTransaction({ tx: {} }));
    const failure = await withClient(transport, submit, endpoints, hooks);
    expect(failure).toMatchObject({ name: "ConnectionError", connected: false });
    expect(retries).toBe(4);
  });
});
