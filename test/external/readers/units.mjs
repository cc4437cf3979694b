// Loads rows into a sink, without a network.
import { createHash } from "node:crypto";
import { tableSchema } from "tradewire";
import { encodeCsv } from "tradewire/csv";

const { signal } = new AbortController();

/** Opens a sink, and loads one unit of rows for each list of a table. */
export async function fill(sink, tables) {
  await sink.open({
    chainId: "chain",
    tables: Object.keys(tables),
    onUnknown: () => undefined,
    unknownColumns: "add",
    signal,
  });
  for (const [table, units] of Object.entries(tables)) {
    for (const [index, rows] of units.entries()) {
      await load(sink, table, index + 1, rows);
    }
  }
  await sink[Symbol.asyncDispose]();
}

async function load(sink, table, segment, rows) {
  const columns = tableSchema(table, 116).columns.map(({ name }) => name);
  const chunks = [];
  for await (const chunk of encodeCsv(columns, rows)) {
    chunks.push(chunk);
  }
  const csv = Buffer.concat(chunks);
  const sha256 = createHash("sha256").update(csv).digest("hex");
  const unit = { chainId: "chain", table, schemaVersion: 116n, segmentId: `id-${segment}` };
  const blocks = { fromBlock: BigInt(segment), toBlock: BigInt(segment) };
  const fetch = async () => ({
    columns,
    content: (async function* content() {
      yield csv;
    })(),
    measures: () => ({ rows: BigInt(rows.length), bytes: BigInt(csv.length), sha256 }),
  });
  const previousSegmentId = segment === 1 ? "" : `id-${segment - 1}`;
  await sink.load({ ...unit, ...blocks, previousSegmentId }, fetch, { replace: false, signal });
}

const USUAL = { id: "\\x0a", flag: "t", json: "{}", text: "x" };

/** Returns a row of a table, with usual values for the columns without a value. Times and identifiers are those of its index. */
export function rowOf(table, index, given) {
  const usual = {
    ...USUAL,
    time: `2023-10-19 08:13:00.${String(index + 1).padStart(6, "0")}+00`,
    id: `\\x${index.toString(16).padStart(8, "0")}`,
  };
  return tableSchema(table, 116).columns.map(
    (column) => given(column) ?? column.values?.[0] ?? usual[column.holds] ?? "1",
  );
}
