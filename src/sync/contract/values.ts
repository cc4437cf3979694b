import type { ColumnType, TableColumn } from "../../schema/table-schema.js";

const DIGITS = "1234567890".repeat(90);

/**
 * Values at the edges of their types, as PostgreSQL writes them; of huge whole numbers those that every sink has to take.
 * Beyond 38 digits, a sink takes a number as it is, or refuses the unit.
 */
const EDGES: { readonly [type in ColumnType]?: readonly string[] } = {
  int2: ["0", "-32768", "32767"],
  int4: ["0", "-2147483648", "2147483647"],
  int8: ["0", "-9223372036854775808", "9223372036854775807", "9007199254740993"],
  hugeint: ["0", "-1", "9".repeat(38), `-${"9".repeat(38)}`, "18446744073709551616"],
  numeric: ["0", "0.1", "-123456789012345678901234567890.123456789", "1.50", `${DIGITS}.${DIGITS}`, "NaN"],
  "numeric(1000,16)": ["0.0000000000000000", "-0.1000000000000000", `${DIGITS}.1234567890123456`, "NaN"],
  float8: ["0", "-0", "0.1", "1e+300", "5e-324", "-1.7976931348623157e+308", "NaN", "Infinity", "-Infinity"],
  bool: ["t", "f"],
  text: [
    "",
    "plain",
    'He said "x", and left',
    '"',
    "two\nlines",
    "return\rand\r\nboth",
    "tab\tand  spaces ",
    " leading",
    "NULL",
    "\\N",
    "\\.",
    "back\\slash\\n",
    "'; DROP TABLE trades; --",
    "Žluťoučký 馬 🐎 e\u0301",
    "separators \u2028 and \u2029, \u00a0, \ufeff",
    "true",
    "long ".repeat(20_000),
  ],
  bytea: ["\\x", "\\x00", "\\xff00ff", `\\x${"0a0d2c22".repeat(64)}`],
  timestamptz: [
    "2023-10-19 08:13:00.123456+00",
    "1970-01-01 00:00:00+00",
    "1969-12-31 23:59:59.999999+00",
    "0001-01-01 00:00:00+00",
    "9999-12-31 23:59:59.999999+00",
    "2024-02-29 12:00:00.5+00",
  ],
  jsonb: [
    "{}",
    "[]",
    "null",
    '""',
    "12345678901234567890.12345678901234567890",
    '{"a": [1, null, true, {"b": "x, \\"y\\"\\n"}]}',
    '"🐎"',
  ],
};

/**
 * List values for a column, those at the edges of its type among them.
 *
 * @param column the column
 * @returns the values as `COPY` writes them; `null`, for NULL, is the first where the column may have it
 */
export function valuesOf(column: TableColumn): (string | null)[] {
  const known = column.values ?? (column.code && Object.keys(column.code.names)) ?? EDGES[column.type] ?? [];
  return column.nullable ? [null, ...known] : [...known];
}
