// The client beside recorded answers of the real network, which a server plays over HTTP/2 and HTTP/1.1.
import { describe, expect, it } from "@jest/globals";
import { createClient } from "../../src/client.js";
import { RequestError } from "../../src/errors/index.js";
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
  return cause instanceof RequestError && /cannot stand in the path|has no HTTP rule/.test(cause.message);
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
