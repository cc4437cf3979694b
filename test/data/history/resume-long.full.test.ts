// Slow for its 501 segments: a range of fewer is exported a part a segment.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createClient, type SavedExport } from "tradewire";
import { startDevnode } from "tradewire/devnode";

import { startHistoryProxy } from "../../support/history-proxy.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-resume-"));
});
afterAll(() => rm(folder, { recursive: true }));

const contentOf = ({ entries }: SavedExport) => entries.map(({ name, size, crc32 }) => ({ name, size, crc32 }));

it("an export that keeps its parts takes a long range in parts of several segments", async () => {
  const count = 501; // One more than there are parts at most.
  await using long = await startDevnode({ segments: count, blocksPerSegment: 1, blockMs: 0 });
  await using before = await startHistoryProxy(long.grpcUrl);
  await using own = createClient({ grpc: { url: before.url } });
  const exported = own.exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: count });
  const saved = await exported.saveTo(`${folder}/out/`, { resume: join(folder, "parts"), parallel: 4 });
  expect(before.asked).toHaveLength(2 + Math.ceil((count - 3) / 2)); // Three segments have an older schema.
  expect(contentOf(saved)).toEqual(contentOf(await exported.saveTo(`${folder}/whole.zip`)));
});
