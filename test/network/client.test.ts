// The client beside recorded answers of the real network, which a server plays over HTTP/2 and HTTP/1.1.
import { fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { createClient, OutcomeUnknownError, RequestError, TransactionError } from "tradewire";
import { SubmitTransactionRequestSchema } from "tradewire/gen/vega/api/v1/core_pb.js";
import { askAgain } from "./asked.js";
import { startPlayingNode } from "./playing-node.js";
import { type RecordedCall, type RecordedResult, readRecorded } from "./recorded.js";

const FILES = ["methods", "refusals"] as const;

/** What each call comes to, by its name; calls that cannot be written as a path are left out. */
async function replay(transport: "grpc" | "grpc-js" | "rest", cases: readonly RecordedCall[]) {
  await using node = await startPlayingNode();
  await using client = createClient({
    transport,
    grpc: { url: node.grpcUrl },
    rest: { url: node.restUrl },
    profile: "deployed",
    retry: { tries: 1 },
  });
  const found = new Map<string, RecordedResult>();
  for (const call of cases) {
    node.play(call);
    try {
      found.set(call.name, await askAgain(client, call));
    } catch (error) {
      if (!(transport === "rest" && isNoPath(error))) {
        throw new Error(call.name, { cause: error });
      }
    }
  }
  return { found, asked: node.asked };
}

/** Whether the client refuses to write a call as a path: an empty identifier, or a method that REST lacks. */
function isNoPath(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof RequestError && /which the path .* cannot contain|has no HTTP rule/.test(cause.message);
}

describe.each(FILES)("recorded %s", (file) => {
  it.each(["grpc", "grpc-js", "rest"] as const)("gives the recorded answers and errors over %s", async (transport) => {
    const { cases } = await readRecorded(file);
    const { found, asked } = await replay(transport, cases);
    const played = cases.filter(({ name }) => found.has(name));
    // Before it asks for the bundle of an asset, the client asks for the asset.
    const lookUps = played.filter(({ method }) => method.endsWith("/GetERC20ListAssetBundle"));
    expect(asked).toHaveLength(played.length + lookUps.length);
    expect(played.length).toBeGreaterThan(cases.length / 2);
    for (const { name, answer, error } of played) {
      expect([name, found.get(name)]).toEqual([name, error === undefined ? { answer } : { error }]);
    }
  });
});

/** Refusals that a transaction gets which is, or may be, in a block already (v0.78.0, `core/pow/engine.go`). */
const MAY_BE_TAKEN =
  /^(transaction hash already used|proof of work tid already (used|seen by the node)|transaction too old|unknown block height)/;

describe.each(["grpc", "rest"] as const)("recorded submissions over %s", (transport) => {
  it("gives the result, or an error that says whether the transaction may be in a block", async () => {
    const { cases } = await readRecorded("refusals");
    const submissions = cases.filter(({ method, request }) => method.endsWith("/SubmitTransaction") && "tx" in request);
    await using node = await startPlayingNode();
    const urls = { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
    await using client = createClient({ transport, ...urls, profile: "deployed", retry: { tries: 1 } });
    for (const call of submissions) {
      node.play(call);
      const request = fromJson(SubmitTransactionRequestSchema, call.request);
      const came: unknown = await client.submitTransaction(request).catch((error: unknown) => error);
      const { success, code, data, txHash } = call.answer ?? {};
      if (call.error !== undefined) {
        // The node has this very transaction in its cache: it is not refused.
        expect([call.name, came]).toEqual([call.name, expect.any(OutcomeUnknownError)]);
      } else if (success === true) {
        expect([call.name, came]).toEqual([call.name, expect.objectContaining({ success, code, txHash })]);
      } else {
        expect([call.name, came]).toEqual([call.name, expect.any(TransactionError)]);
        expect(came).toMatchObject({ result: { code, data }, mayHaveBeenTaken: MAY_BE_TAKEN.test(String(data)) });
      }
    }
    expect(node.asked).toHaveLength(submissions.length);
    expect(submissions.length).toBeGreaterThan(15);
  });
});
