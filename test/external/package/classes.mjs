// Connect's classes as a user's own import of Connect gives them, beside the local node of TRADEWIRE_GRPC_URL and TRADEWIRE_REST_URL.
// Fails where tradewire's are others. The argument says whether the user's Connect is of the version that tradewire has
// ("same") or of another ("other").
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { Code, ConnectError, createClient as createConnectClient } from "@connectrpc/connect";
import * as tradewire from "tradewire";
import { TradingDataService } from "tradewire/api";
import { createGrpcJsTransport, createGrpcTransport, createRestTransport } from "tradewire/transport";

const isSame = process.argv[2] === "same";
const require = createRequire(import.meta.url);
const { createClient, loadConfig, NodeError } = tradewire;
const { grpc, rest } = loadConfig().config;
/** An order that the node does not have. */
const request = { orderId: "0".repeat(64) };

/** The reason of a promise that must be rejected. */
const failureOf = (promise) =>
  promise.then(
    () => assert.fail("the call has not failed"),
    (reason) => reason,
  );

/** Connect's `instanceof` takes an error of another copy for its own, so the prototype is compared too. */
function assertConnectError(error, code) {
  assert.ok(error instanceof ConnectError);
  assert.equal(Object.getPrototypeOf(error) === ConnectError.prototype, isSame);
  assert.equal(error.code, code);
  assert.ok(error.cause instanceof NodeError);
  assert.equal(ConnectError.from(error), error);
}

assert.equal(tradewire.Code === Code, isSame);
assert.deepEqual({ ...tradewire.Code }, { ...Code });

for (const transport of ["grpc", "grpc-js", "rest"]) {
  const seen = [];
  const observe = (next) => (call) =>
    next(call).catch((reason) => {
      seen.push(reason);
      throw reason;
    });
  const client = createClient({ transport, grpc, rest }, { interceptors: [observe] });
  const error = await failureOf(client.service(TradingDataService).getOrder(request));
  assert.ok(error instanceof NodeError && error.code === Code.NotFound);
  assertConnectError(seen[0], Code.NotFound);
  assert.equal(seen[0].cause, error);

  assertConnectError(
    await failureOf(createConnectClient(TradingDataService, client.transport).getOrder(request)),
    Code.NotFound,
  );
  await client.close();

  // What an interceptor throws reaches the caller as it is (docs/observability.md).
  const own = new ConnectError("not now", Code.ResourceExhausted);
  const refuse = () => () => Promise.reject(own);
  const refusing = createClient({ transport, grpc, rest }, { interceptors: [refuse] });
  assert.equal(await failureOf(refusing.service(TradingDataService).getOrder(request)), own);
  assert.equal(await failureOf(refusing.listSegments()), own);
  assert.equal(await failureOf(createConnectClient(TradingDataService, refusing.transport).getOrder(request)), own);
  await refusing.close();
}

for (const transport of [createGrpcTransport(grpc), createGrpcJsTransport(grpc), createRestTransport(rest)]) {
  const error = await failureOf(createConnectClient(TradingDataService, transport).getOrder(request));
  assertConnectError(error, Code.NotFound);
  await transport.close();
}

// `require` gives the modules that `import` gives. Connect itself has a second copy of its classes for `require`.
const required = require("tradewire");
assert.equal(required.Code, tradewire.Code);
assert.equal(required.NodeError, NodeError);
assert.equal(require("tradewire/transport").createGrpcTransport, createGrpcTransport);
const connect = require("@connectrpc/connect");
const connectError = new ConnectError("gone", Code.NotFound);
assert.ok(connectError instanceof connect.ConnectError);
assert.deepEqual({ ...connect.Code }, { ...required.Code });
console.log("all is as it should be");
