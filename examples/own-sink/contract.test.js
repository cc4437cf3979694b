// Holds the sink to what every sink promises, in Node's own test runner. Any other would do.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sinkContract } from "tradewire/sync/contract";
import { jsonLinesSink, readRows } from "./sink.js";

for (const { name, run } of sinkContract) {
  test(name, async () => {
    const folder = await mkdtemp(join(tmpdir(), "own-sink-"));
    try {
      await run({ makeSink: () => jsonLinesSink(folder), readRows: (table) => readRows(folder, table) });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}
