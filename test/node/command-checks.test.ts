import { readFileSync } from "node:fs";
import { fromBinary, fromJson, type JsonObject } from "@bufbuild/protobuf";
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

test("a proposal is refused whose form the node cannot use", async () => {
  await using node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0, profile: "deployed" });
  await using client = createClient({ profile: "deployed", transport: "grpc", grpc: { url: node.grpcUrl } });
  const block = { ...(await lastBlock(client)), difficulty: 1 };
  const times = { closingTimestamp: "2000000000", enactmentTimestamp: "2000000001" };
  const terms = "proposal_submission.terms";
  const positions = (positionDecimalPlaces: number) => ({ newMarket: { changes: { positionDecimalPlaces } } });
  for (const [submission, data] of [
    [{}, `${terms} (is required)`],
    [{ terms: times }, `${terms}.change (is required)`],
    [{ terms: { ...times, newMarket: {} } }, `${terms}.change.new_market.changes (is required)`],
    [{ terms: { ...times, updateMarket: {} } }, `${terms}.change.update_market.changes (is required)`],
    [
      { terms: { updateNetworkParameter: { changes: {} } } },
      `${terms}.closing_timestamp (must be positive), ${terms}.enactment_timestamp (must be positive)`,
    ],
    [
      { terms: { ...times, enactmentTimestamp: "1", updateNetworkParameter: { changes: {} } } },
      `${terms}.closing_timestamp (cannot be after enactment time)`,
    ],
    [
      { terms: { ...times, ...positions(-7) } },
      `${terms}.change.new_market.changes.position_decimal_places (must be between -7 and 7)`,
    ],
  ] satisfies readonly (readonly [JsonObject, string])[]) {
    const { command } = fromJson(InputDataSchema, { proposalSubmission: submission });
    const tx = await craft({ block, inputData: { command }, submittedPrefix: new Uint8Array() });
    expect(await client.checkTransaction(tx)).toMatchObject({ success: false, code: 60, data });
  }
});
