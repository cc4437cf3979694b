import { type TableName, tableSchema } from "tradewire";
import { encoded } from "./csv.js";
import { rawZip } from "./raw-zip.js";

/** A text of each meaning, as COPY writes it. */
const TEXTS = {
  time: "2023-10-19 08:13:00.123456+00",
  id: "\\x0aff",
  whole: "12",
  decimal: "-1.50",
  number: "0.25",
  flag: "t",
  text: "",
  json: '{"a": 1}',
  code: "1",
};

/** Make the CSV of a table: each row has plain values, but for those that are given. */
export async function tableCsv(
  table: TableName,
  version: number,
  rows: readonly Readonly<Record<string, string | null>>[],
  { without = [], more = [] }: { readonly without?: readonly string[]; readonly more?: readonly string[] } = {},
): Promise<Buffer> {
  const known = tableSchema(table, version).columns.filter(({ name }) => !without.includes(name));
  const plain = known.map(
    (column) => [column.name, column.holds === "enum" ? (column.values[0] ?? "") : TEXTS[column.holds]] as const,
  );
  const all = [...plain, ...more.map((name) => [name, "x"] as const)];
  return encoded({
    columns: all.map(([name]) => name),
    rows: rows.map((given) => all.map(([name, text]) => (name in given ? (given[name] ?? null) : text))),
  });
}

/** Make an archive. */
export const archiveOf = (files: Readonly<Record<string, Buffer | string>>) =>
  rawZip(Object.entries(files).map(([name, content]) => ({ name, content })));
