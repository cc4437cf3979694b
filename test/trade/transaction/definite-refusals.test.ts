import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type ClientConfig, createClient, NodeError, OutcomeUnknownError } from "tradewire";
import { SubmitTransactionRequest_Type, SubmitTransactionResponseSchema } from "tradewire/gen/vega/api/v1/core_pb.js";
import { frame, type GrpcServer, startGrpcServer } from "../../support/grpc-server.js";
import { head, type RawHttpServer, startRawHttp, whole } from "../../support/raw-http.js";
import { craft } from "../../support/transactions.js";

const block = { chainId: "test-1", height: 1n, hash: "00".repeat(32), difficulty: 1, hashFunction: "sha3_24_rounds" };
const command = { case: "stopOrdersCancellation", value: {} } as const;
const type = SubmitTransactionRequest_Type.SYNC;
const taken = create(SubmitTransactionResponseSchema, { success: true, txHash: "AB" });
const JSON_TYPE = { "content-type": "application/json" };

let grpc: GrpcServer;
let rest: RawHttpServer;
beforeAll(async () => {
  [grpc, rest] = await Promise.all([startGrpcServer(), startRawHttp()]);
});
afterAll(() => Promise.all([grpc.close(), rest.close()]));

async function submitted(transport: NonNullable<ClientConfig["transport"]>): Promise<unknown> {
  await using client = createClient({ transport, grpc: { url: grpc.url }, rest: { url: rest.url } });
  return await client
    .submitTransaction({ tx: await craft({ block, inputData: { command } }), type })
    .catch((reason: unknown) => reason);
}

describe.each(["grpc", "grpc-js", "rest"] as const)("a submission over %s", (transport) => {
  // A proxy may answer so after it has passed the request on, such as one that checks the answer.
  test.each([400, 401, 403, 404, 413, 429])("has an unknown outcome after HTTP %i", async (status) => {
    grpc.answer = { headers: { ":status": status, "content-type": "text/html" }, ending: "end" };
    rest.answer = whole(`${status} No`, "<h1>No</h1>", { "content-type": "text/html" });
    const error = await submitted(transport);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ cause: { name: "NodeError", isRefusal: false } });
  });

  // As grpc-js words it if no connection was made. A node that has the request can send the same words.
  test.each([
    ["in trailers", "Write error: Last error: connect ECONNREFUSED 1.2.3.4:1"],
    ["in headers alone", "No connection established. Last error: connect ECONNREFUSED 1.2.3.4:1"],
  ])("has an unknown outcome if the node's words, %s, are those of a failed connection", async (place, words) => {
    const status = { "grpc-status": "14", "grpc-message": words };
    grpc.answer =
      place === "in trailers"
        ? { ending: status }
        : { headers: { ...status, "content-type": undefined }, ending: "end" };
    rest.answer = whole("503 No", JSON.stringify({ code: 14, message: words, details: [] }), JSON_TYPE);
    const before = grpc.calls.length;
    expect(await submitted(transport)).toBeInstanceOf(OutcomeUnknownError);
    expect(grpc.calls.length - before).toBeLessThanOrEqual(1);
  });

  test("has an unknown outcome after HTTP 403 that names a ban", async () => {
    grpc.answer = {
      headers: { ":status": 403, "content-type": "text/html", "retry-after": "60" },
      ending: "end",
    };
    rest.answer = whole("403 No", "<h1>No</h1>", { "content-type": "text/html", "retry-after": "60" });
    expect(await submitted(transport)).toBeInstanceOf(OutcomeUnknownError);
  });

  test("was not taken where the node itself refuses it", async () => {
    grpc.answer = { ending: { "grpc-status": "7", "grpc-message": "no" } };
    rest.answer = whole("403 Forbidden", JSON.stringify({ code: 7, message: "no", details: [] }), JSON_TYPE);
    const error = await submitted(transport);
    expect(error).toBeInstanceOf(NodeError);
    expect(error).toMatchObject({ code: Code.PermissionDenied, isRefusal: true });
  });
});

describe.each(["grpc", "grpc-js"] as const)("a submission over %s", (transport) => {
  test("has an unknown outcome where a status follows the node's answer", async () => {
    const pieces = [frame(toBinary(SubmitTransactionResponseSchema, taken))];
    grpc.answer = { pieces, ending: { "grpc-status": "7", "grpc-message": "no" } };
    const error = await submitted(transport);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ code: Code.PermissionDenied });
  });

  test("has an unknown outcome where a status follows a part of the node's answer", async () => {
    const pieces = [frame(toBinary(SubmitTransactionResponseSchema, taken)).subarray(0, 6)];
    grpc.answer = { pieces, ending: { "grpc-status": "3", "grpc-message": "no" } };
    expect(await submitted(transport)).toBeInstanceOf(OutcomeUnknownError);
  });
});

describe("a submission over rest", () => {
  test.each([
    { code: "request_invalid", message: "no" },
    { message: "no" },
    { error: "no" },
    { error: { code: 403, status: "PERMISSION_DENIED", message: "no" } },
    { type: "about:blank", title: "Forbidden", status: 403 },
  ])("has an unknown outcome after an error object of something else: %j", async (body) => {
    rest.answer = whole("403 Forbidden", JSON.stringify(body), JSON_TYPE);
    expect(await submitted("rest")).toBeInstanceOf(OutcomeUnknownError);
  });

  test("has an unknown outcome after an answer that says nothing of it", async () => {
    for (const answer of [
      { pieces: [head("204 No Content")], ending: "keep" },
      whole("200 OK", "{}", JSON_TYPE),
    ] as const) {
      rest.answer = answer;
      expect(await submitted("rest")).toBeInstanceOf(OutcomeUnknownError);
    }
  });
});
