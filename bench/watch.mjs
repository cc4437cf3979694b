// What it takes to show a sync of a large history: 300,000 segments of 15 tables in a made-up sink, whose ledger is read
// entry by entry. `npm run build && node --expose-gc bench/watch.mjs [SEGMENTS]`
import { gzipSync } from "node:zlib";
import { tableNames } from "../compiled/src/data/schema/table-names.js";
import { coverageOf } from "../compiled/src/sync/watch/coverage-picture.js";
import { createSyncState } from "../compiled/src/sync/watch/sync-state.js";

const COUNT = Number(process.argv[2] ?? 300_000);
const BLOCKS = 300;

const place = (index) => ({ fromBlock: BigInt(index * BLOCKS + 1), toBlock: BigInt((index + 1) * BLOCKS) });
const chainId = "made-up";
const segments = Array.from({ length: COUNT }, (_, index) => ({
  id: `segment-${index}`,
  previousId: `segment-${index - 1}`,
  schemaVersion: 1n,
  ...place(index),
}));
const entry = (table, index) => ({
  chainId,
  table,
  segmentId: `segment-${index}`,
  previousSegmentId: `segment-${index - 1}`,
  schemaVersion: 1n,
  rows: 10n,
  bytes: 1000n,
  sha256: "",
  loadedAt: "",
  fromBlock: BigInt(index * BLOCKS + 1),
  toBlock: BigInt((index + 1) * BLOCKS),
});
const sink = {
  async *entries(table) {
    for (let index = 0; index < COUNT; index += 1) {
      if (index % 50 !== 7) yield entry(table, index);
    }
  },
};

const used = () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
};
let last = used();
async function measure(what, times, work) {
  const began = process.cpuUsage();
  let result;
  for (let time = 0; time < times; time += 1) {
    result = await work(time);
  }
  const spent = process.cpuUsage(began);
  const ms = (spent.user + spent.system) / 1000 / times;
  const now = used();
  console.log(
    `${what.padEnd(58)} ${ms.toFixed(3).padStart(10)} ms of CPU ${((now - last) / 1e6).toFixed(2).padStart(8)} MB kept`,
  );
  last = now;
  return result;
}

const state = createSyncState();
const tables = tableNames.map((table) => ({ table, units: 0, rows: 0n, bytes: 0n, missing: BigInt(COUNT) }));
await measure("take the first plan", 1, () => state.take({ kind: "planned", history: { chainId, segments }, tables }));
await measure("make up the ledger's entries, and nothing else", 1, async () => {
  for (const table of tableNames) {
    for await (const _ of sink.entries(table));
  }
});
await measure("read the coverage, entry by entry", 1, () =>
  state.cover(({ tables, range, parts }) => coverageOf(sink, tables, range, parts)),
);
await measure("take a unit: began, arrived, loaded (of 100,000)", 100_000, (index) => {
  const unit = entry(tableNames[index % tableNames.length], index);
  state.take({ kind: "began", unit, node: "node" });
  state.take({ kind: "arrived", unit, bytes: 500 });
  state.take({ kind: "loaded", entry: unit, ms: 1 });
});
await measure("snapshot (of 100)", 100, () => state.snapshot());
const error = Object.assign(new Error("it fails"), { code: 14, summary: "it fails", advice: "wait" });
for (let index = 0; index < 1000; index += 1) {
  const unit = entry(tableNames[index % tableNames.length], index * 100);
  state.take({ kind: "failed", unit, error, attempt: 1 });
  state.take({
    kind: "began",
    unit: { ...unit, fromBlock: unit.fromBlock + 300n, toBlock: unit.toBlock + 300n },
    node: "node",
  });
}
await measure("snapshot with 1000 units failed, 1000 under way (of 100)", 100, () => state.snapshot());
const json = await measure("JSON of it (of 100)", 100, () =>
  JSON.stringify(state.snapshot(), (_, value) => (typeof value === "bigint" ? String(value) : value)),
);
console.log(`JSON ${json.length} bytes, compressed ${gzipSync(json, { level: 1 }).length}`);
console.log(
  `peak of the process ${(process.resourceUsage().maxRSS / 1e3).toFixed(0)} MB, the made-up listing included`,
);
