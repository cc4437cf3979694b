// Encodes rows, decodes them from parts of all sizes, and fails at bytes that are not UTF-8.
import { decodeCsv, encodeCsv } from "tradewire/csv";
import { collect } from "./collect.mjs";

const ROWS = [
  ["1", null, "plain"],
  ["2", "", 'a "quoted", text'],
  ["3", "line\nbreak", "\u{feff}é€𝄞"],
];

async function* parts(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) {
    yield bytes.subarray(at, at + size);
  }
}

async function decode(bytes, size) {
  const rows = [];
  try {
    for await (const batch of decodeCsv(parts(bytes, size), { name: "rows.csv" })) {
      rows.push(...batch.rows);
    }
  } catch (reason) {
    return { rows, error: reason.message };
  }
  return { rows };
}

export default async function run() {
  const [encoded] = await collect(encodeCsv(["id", "name", "text"], ROWS));
  const damaged = Uint8Array.from(encoded);
  damaged[damaged.indexOf(0xc3)] = 0xff;
  const decoded = [];
  for (const size of [1, 2, 7, 1000]) {
    decoded.push(await decode(encoded, size), await decode(damaged, size));
  }
  return { encoded: [...encoded], decoded };
}
