// Archives of trades for measurements.
import { createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ZipFile } from "yazl";
import { tableSchema } from "../dist/src/index.js";

export const CHAIN = "bench-chain";
export const BLOCKS = 1000;
export const schema = tableSchema("trades", 116);

export function nameOf(segment) {
  return `${CHAIN}-trades-${segment * BLOCKS + 1}-${(segment + 1) * BLOCKS}`;
}

/** Write an archive, and its CSV file beside it, for each segment: `megabytes` of CSV each. */
export async function writeArchives(folder, segments, megabytes) {
  for (let index = 0; index < segments; index += 1) {
    const zip = new ZipFile();
    const csv = join(folder, `${nameOf(index)}.csv`);
    await writeFile(csv, csvOf(index, megabytes));
    zip.addFile(csv, `${nameOf(index)}.csv`);
    zip.end();
    await pipeline(zip.outputStream, createWriteStream(join(folder, `${nameOf(index)}.zip`)));
  }
}

/** Rows of trades as a busy network makes them: every value another, keys in order; the first piece is the header. */
export function* csvOf(segment, megabytes) {
  yield Buffer.from(`${schema.columns.map(({ name }) => name).join(",")}\n`);
  let seed = segment + 1;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed;
  };
  const hex = () => `\\x${Array.from({ length: 8 }, () => random().toString(16).padStart(8, "0")).join("")}`;
  const parties = Array.from({ length: 40 }, hex);
  const markets = Array.from({ length: 5 }, hex);
  let written = 0;
  let row = 0;
  while (written < megabytes * 1e6) {
    const lines = [];
    for (let each = 0; each < 500; each += 1) {
      row += 1;
      lines.push(
        `${schema.columns.map((column) => fieldOf(column, segment, row, { random, hex, parties, markets })).join(",")}\n`,
      );
    }
    const bytes = Buffer.from(lines.join(""));
    written += bytes.length;
    yield bytes;
  }
}

function fieldOf({ name, type, holds, values, nullable }, segment, row, { random, hex, parties, markets }) {
  if (holds === "time") {
    const time = new Date(Date.UTC(2024, 0, 1) + (segment * 1_000_000 + Math.floor(row / 20)) * 1000);
    return `${time.toISOString().slice(0, 19).replace("T", " ")}.${String(row % 20).padStart(6, "0")}+00`;
  }
  if (name === "seq_num") {
    return String(row % 20);
  }
  if (values !== undefined) {
    return values[random() % values.length];
  }
  switch (type) {
    case "bytea":
      return name === "market_id"
        ? markets[random() % 5]
        : /buyer|seller|party/.test(name)
          ? parties[random() % 40]
          : hex();
    case "hugeint":
    case "numeric":
    case "numeric(1000,16)":
      return nullable && random() % 3 === 0 ? "" : String(random());
    case "int2":
      return "1";
    case "bool":
      return "t";
    default:
      return String(random() % 1000);
  }
}
