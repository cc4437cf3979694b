import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { RequestError } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { DivergenceError, planHistory, syncHistory, syncStatus, verifySync } from "tradewire/sync";
import { jsonLinesSink, readRows } from "../support/json-lines-sink.js";
import { listingClient } from "../support/made-history.js";
import { type Syncing, settings, startSyncing } from "../support/syncing.js";

let syncing: Syncing;

beforeEach(async () => {
  syncing = await startSyncing();
});

afterEach(async () => {
  await syncing[Symbol.asyncDispose]();
});

it("changes nothing where histories part, and takes the other one where that is wanted", async () => {
  const before = syncing.node.snapshot();
  await syncing.makeSegment();
  await syncing.sync().done;
  const rows = await readRows(syncing.folder, "blocks");
  syncing.node.revert(before);
  await syncing.sync().done; // The node has less, which it may.
  syncing.node.setTime("2031-01-01T00:00:00Z");
  await syncing.makeSegment();
  await syncing.makeSegment();
  const parted: unknown = await syncing.sync().done.catch((reason: unknown) => reason);
  expect(parted).toBeInstanceOf(DivergenceError);
  expect(parted).toMatchObject({
    message: expect.stringMatching(
      /json-lines:.* 41 to 50 of trades.*node has segment .*\n.*replaceFrom \(--replace-from-block\) 41/,
    ),
  });
  expect(await readRows(syncing.folder, "blocks")).toEqual(rows);
  expect(
    await verifySync(jsonLinesSink(syncing.folder), { clients: syncing.clientOf(), tables: ["blocks"] }),
  ).toMatchObject({
    unsound: 1,
    missing: 2n,
  });
  expect(await syncing.sync({ replaceFrom: 41 }).done).toMatchObject({ units: 4, failed: [] });
  await syncing.expectAll("blocks", 6);
  await syncing.expectAll("trades", 6);
  syncing.node.revert(before);
  expect(await syncing.sync({ replaceFrom: 41 }).done).toMatchObject({ units: 0 });
  await syncing.expectAll("blocks", 4);
});

it("refuses another chain and wrong options, and closes the sink", async () => {
  await syncing.sync().done;
  await using other = await startDevnode({ ...settings, chainId: "another-chain" });
  await expect(syncing.sync({}, syncing.clientOf(other.grpcUrl)).done).rejects.toThrow(
    /tradewire-devnet.*another-chain/,
  );
  let closed = 0;
  const close = async () => {
    closed += 1;
  };
  const sink = { ...jsonLinesSink(syncing.folder), close };
  const misspelt = { sink, paralel: 3 };
  await expect(syncHistory(syncing.clientOf(), misspelt)).rejects.toThrow(
    /unknown option "paralel" in options\nDid you mean parallel\?/,
  );
  await expect(syncHistory(syncing.clientOf(), { sink, parallel: 0 })).rejects.toThrow(RequestError);
  await expect(syncHistory([], { sink })).rejects.toThrow(RequestError);
  expect(closed).toBe(3);
});

it("looks at what is there beside a node that has no history yet, as after it was set up anew", async () => {
  await syncing.sync().done;
  const clients = listingClient("new", []);
  const sink = () => jsonLinesSink(syncing.folder);
  const chainId = syncing.node.chainId;
  expect(await syncStatus(sink(), { clients, tables: ["blocks"] })).toMatchObject({
    chainId,
    segments: 0,
    tables: [{ units: 4, missing: 0n }],
  });
  expect(await verifySync(sink(), { clients })).toMatchObject({ chainId, units: 8, unsound: 0, missing: 0n });
  expect(await planHistory(clients, { sink: sink(), tables: ["blocks"] })).toMatchObject({
    segments: 0,
    tables: [{ units: 4, calls: 0 }],
    foreign: 0,
  });
});

it("verifies, also against the node, value by value", async () => {
  await syncing.sync().done;
  const clients = syncing.clientOf();
  const deep = { clients, deep: true, tables: ["trades", "blocks"] as const };
  expect(await verifySync(jsonLinesSink(syncing.folder), deep)).toMatchObject({
    units: 8,
    compared: 8,
    unsound: 0,
    missing: 0n,
  });
  await corrupt();
  const { listed, unsound } = await verifySync(jsonLinesSink(syncing.folder), deep);
  expect(unsound).toBe(1);
  expect(listed).toMatchObject([{ rows: 10n, deep: { sameCsv: true, missing: 1n, extra: 1n }, sound: false }]);
  await expect(verifySync(jsonLinesSink(syncing.folder), { deep: true })).rejects.toThrow(RequestError);
});

/** Changes a value of a block behind the sink's back. */
async function corrupt(): Promise<void> {
  const name = (await readdir(syncing.folder)).find((file) => file.startsWith("blocks-1-")) ?? "";
  const text = await readFile(join(syncing.folder, name), "utf8");
  await writeFile(join(syncing.folder, name), text.replace('"height":"5"', '"height":"555"'));
}
