/**
 * Reads Parquet files with DuckDB, Polars and PyArrow of Python, before and after they are joined: `npm run test:readers`.
 * PYTHON names an interpreter that has them (`pip install duckdb polars pyarrow`); `python3` by default.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableSchema } from "tradewire";
import { encodeCsv } from "tradewire/csv";
import { compactParquet, parquetSink } from "tradewire/sync";

const ROWS = {
  trades: [{ price: "9" }, { price: String(10n ** 30n) }],
  orders: [{ price: "9" }, { price: String(2n ** 256n - 1n) }],
  positions: [{ loss: "9.5" }, { loss: "10.5" }],
};
const USUAL = { time: "2023-10-19 08:13:00+00", id: "\\x0a", flag: "t", json: "{}", text: "x" };
const { signal } = new AbortController();
const folder = await mkdtemp(join(tmpdir(), "tradewire-readers-"));
const [out, alone] = ["history", "trades"].map((name) => join(folder, name));

async function load(sink, table, segment, given) {
  const { columns } = tableSchema(table, 116);
  const names = columns.map(({ name }) => name);
  const row = columns.map(({ name, holds, values }) => given[name] ?? values?.[0] ?? USUAL[holds] ?? "1");
  const pieces = [];
  for await (const piece of encodeCsv(names, [row])) {
    pieces.push(piece);
  }
  const csv = Buffer.concat(pieces);
  const sha256 = createHash("sha256").update(csv).digest("hex");
  const unit = { chainId: "chain", table, schemaVersion: 116n, segmentId: `id-${segment}` };
  const blocks = { fromBlock: BigInt(segment), toBlock: BigInt(segment) };
  const fetch = async () => ({
    columns: names,
    content: (async function* content() {
      yield csv;
    })(),
    measures: () => ({ rows: 1n, bytes: BigInt(csv.length), sha256 }),
  });
  const previousSegmentId = segment === 1 ? "" : `id-${segment - 1}`;
  await sink.load({ ...unit, ...blocks, previousSegmentId }, fetch, { replace: false, signal });
}

const run = (program, ...folders) =>
  execFileSync(process.env["PYTHON"] ?? "python3", [join(import.meta.dirname, program), ...folders], {
    stdio: "inherit",
  });
const read = () => run("read.py", out, alone);

async function fill(path, tables) {
  const sink = parquetSink(path);
  await sink.open({ chainId: "chain", tables, onUnknown: () => undefined, unknownColumns: "add", signal });
  for (const table of tables) {
    for (const [index, row] of ROWS[table].entries()) {
      await load(sink, table, index + 1, row);
    }
  }
  await sink[Symbol.asyncDispose]();
}

try {
  await fill(out, Object.keys(ROWS));
  await fill(alone, ["trades"]);
  read();
  console.log(await compactParquet(out));
  console.log(await compactParquet(alone));
  read();
  // What stands there while files are exchanged.
  const [unit] = await readdir(join(alone, "data", "table=trades"));
  const notice = join(alone, "data", "table=trades", unit, "0000000001-0000000002.unfinished-change.parquet");
  await writeFile(notice, "Files of this table are being merged or replaced.\n");
  run("unfinished.py", alone);
} finally {
  await rm(folder, { recursive: true });
}
