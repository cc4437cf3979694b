import { readFileSync } from "node:fs";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { signerFromMnemonic } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { openMarket, ownAsset } from "../support/devnode.js";
import { type SubmissionCase, submissionPlayer } from "./submissions.js";

const { cases }: { readonly cases: readonly SubmissionCase[] } = JSON.parse(
  readFileSync(new URL("recorded/answers.json", import.meta.url), "utf8"),
);

/** Where the local node's answer is another one, and why. */
const differences: Readonly<Record<string, { readonly data: string; readonly why: string }>> = {
  "a batch with too many instructions": {
    data: "market batch instructions too big, got(31), expected(15)",
    why: "spam.protection.max.batchSize has another value",
  },
};

/** The code of commands that the local node does not execute: docs/devnode.md lists them. */
const UNSUPPORTED = 80;

let node: Devnode;
let play: ReturnType<typeof submissionPlayer>;
beforeAll(async () => {
  node = await startDevnode({ profile: "deployed", segments: 1, blocksPerSegment: 200, blockMs: 0, fundedKeys: [] });
  play = submissionPlayer({
    transport: createGrpcTransport({ baseUrl: node.grpcUrl }),
    nextBlock: () => node.makeBlock(),
    names: { $market: openMarket, $asset: ownAsset },
    signers: { funded: await signerFromMnemonic(node.mnemonic) },
  });
});
afterAll(() => node.close());

describe("the local node answers as the real node did", () => {
  // In their order: what a transaction is answered depends on those before it.
  test.each(cases.map((each) => [each.name, each] as const))("%s", async (name, each) => {
    const { answer, error } = each;
    const expected = error === undefined ? { answer } : { error };
    const difference = differences[name];
    const played = await play(each);
    const [kind] = Object.keys(each.transaction?.command ?? {});
    if ("answer" in played && Object(played.answer).code === UNSUPPORTED) {
      const data = expect.stringMatching(`^the local node does not execute ${kind}(\\..*)?$`);
      expect(played).toEqual({ answer: { ...Object(answer), success: false, code: UNSUPPORTED, data } });
      return;
    }
    if (each.method.endsWith("GetSpamStatistics") && error === undefined) {
      expect(shapeOf(played)).toEqual(shapeOf(expected));
    } else if (difference === undefined) {
      expect(played).toEqual(expected);
    } else {
      const { why: _, ...other } = difference;
      expect(played).toEqual({ answer: { ...Object(answer), ...other } });
    }
  });

  test("but for what is listed", () => {
    expect(Object.keys(differences).filter((name) => !cases.some((each) => each.name === name))).toEqual([]);
  });
});

/** The members of a message, with the types of their values: limits and counts are those of the network. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.slice(0, 1).map(shapeOf);
  }
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]))
    : typeof value;
}
