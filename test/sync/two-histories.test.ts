import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { DivergenceError, duckdbSink, parquetSink, type Sink, syncHistory } from "tradewire/sync";
import { settings } from "../support/syncing.js";
import { expectOneOfTwoHistories } from "../support/two-histories.js";

const kinds: [string, (folder: string) => Sink][] = [
  ["DuckDB", (folder) => duckdbSink(join(folder, "history.duckdb"))],
  ["Parquet", (folder) => parquetSink(join(folder, "history"))],
];

it.each(kinds)(
  "loads one of two histories of a chain that start into an empty target of %s at the same time",
  async (_, make) => {
    await inFolder((folder) => expectOneOfTwoHistories(() => make(folder)));
  },
);

it("refuses a history, also a shorter one, while another one has not loaded its first unit", async () => {
  await inFolder(async (folder) => {
    const tables = ["blocks"] as const;
    const sink = () => duckdbSink(join(folder, "history.duckdb"));
    await using first = await startDevnode(settings);
    await using second = await startDevnode({ ...settings, segments: 3, schemaVersions: [116] });
    await using mine = createClient({ grpc: { url: first.grpcUrl }, retry: { tries: 1 } });
    await using other = createClient({ grpc: { url: second.grpcUrl }, retry: { tries: 1 } });
    const stopping = new AbortController();
    const starting = syncHistory(
      {
        listSegments: (options) => mine.listSegments(options),
        exportNetworkHistory: (request, options) => {
          stopping.abort();
          return mine.exportNetworkHistory(request, options);
        },
      },
      { sink: sink(), tables, signal: stopping.signal },
    );
    await expect(starting).rejects.toThrow();
    const refused = syncHistory(other, { sink: sink(), tables });
    await expect(refused).rejects.toThrow(DivergenceError);
    await expect(refused).rejects.toThrow(
      /a sync loads another history of this chain into duckdb:.*, in which segment "\w+" ends with block \d0, but the node has segment "\w+" of blocks/,
    );
    expect(await syncHistory(mine, { sink: sink(), tables })).toMatchObject({ units: 4, failed: [] });
  });
});

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "histories-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
