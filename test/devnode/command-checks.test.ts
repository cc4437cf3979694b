import { readFileSync } from "node:fs";
import { fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { craft, lastBlock } from "../support/transactions.js";

/** What v0.78.0's own check of a command says. */
const { cases }: { cases: { kind: string; inputData: string; error: string }[] } = JSON.parse(
  readFileSync("test/network/recorded/command-checks.json", "utf8"),
);

/** The most commands of a kind that are checked. */
const MOST = 25;

test("under the profile deployed, each kind of command is refused in the network's words", async () => {
  const chainId = "devnode-1";
  await using node = await startDevnode({
    chainId,
    segments: 2,
    blocksPerSegment: 100,
    blockMs: 0,
    profile: "deployed",
  });
  await using client = createClient({ profile: "deployed", transport: "grpc", grpc: { url: node.grpcUrl } });
  const block = { ...(await lastBlock(client)), difficulty: 1 }; // The command is looked at before the proof of work.
  const counts = new Map<string, number>();
  const wrong = cases.filter(({ kind, error }) => {
    const count = (counts.get(kind) ?? 0) + (error === "" ? 0 : 1);
    counts.set(kind, count);
    return error !== "" && count <= MOST;
  });
  for (const { inputData, error } of wrong) {
    const { command } = fromBinary(InputDataSchema, Buffer.from(inputData, "base64"));
    const tx = await craft({ block, inputData: { command }, submittedPrefix: new Uint8Array() });
    expect(await client.checkTransaction(tx)).toMatchObject({ success: false, code: 60, data: error });
  }
  const kinds = [...counts].filter(([, count]) => count > 0).map(([kind]) => kind);
  expect(kinds).toHaveLength(22);
});
