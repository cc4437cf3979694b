import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "@jest/globals";
import { type SinkHost, sinkContract } from "tradewire/sync/contract";
import { jsonLinesSink, readRows } from "../../support/json-lines-sink.js";

async function withPlace(use: (host: SinkHost) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "own-sink-"));
  try {
    await use({ makeSink: () => jsonLinesSink(folder), readRows: (table) => readRows(folder, table) });
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("the example's sink", () => {
  it.each(sinkContract)("$name", ({ run }) => withPlace(run));
});
