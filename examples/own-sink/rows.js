// The rows of the node's CSV files as lines of JSON.
import { Code, csvRecords } from "tradewire";
import { FROM_BLOCK, SinkError, targetOf } from "tradewire/sync";

/** Finds the columns of the table, and tells of what this release does not know. */
export function knowing(unit, columns, { unknownColumns = "add", onUnknown }) {
  const tell = (column, value) => {
    const what = value === undefined ? `the column ${column}` : `${value} in the column ${column}`;
    if (unknownColumns === "fail") {
      throw new SinkError(`${what} of ${unit.table} is not known`, {
        code: Code.FailedPrecondition,
        advice: "Install a newer release, or allow what is not known to be added.",
      });
    }
    const file = `${unit.table}-${unit.fromBlock}-${unit.toBlock}.csv`;
    onUnknown({ file, table: unit.table, column, ...(value !== undefined && { value }) });
  };
  return new Map(
    columns.map((column) => {
      const target = targetOf(unit.table, column);
      if (target === undefined) {
        tell(column);
      }
      const values = target?.values && new Set(target.values);
      const check = (value) => {
        if (values !== undefined && value !== null && !values.has(value)) {
          values.add(value);
          tell(column, value);
        }
      };
      return [column, { name: target?.name ?? column, check }];
    }),
  );
}

/** Reads the rows of a file by the names of the sink's columns. */
export async function* convert(content, unit, known) {
  for await (const record of csvRecords(content)) {
    const row = {};
    for (const [column, value] of Object.entries(record)) {
      const target = known.get(column);
      target.check(value);
      row[target.name] = value;
    }
    row[FROM_BLOCK] = String(unit.fromBlock);
    yield row;
  }
}

/** JSON escapes the line breaks of values, but for two, at which many readers of lines split, too. */
export function lineOf(record) {
  return JSON.stringify(record).replace(/[\u2028\u2029]/g, (found) => (found === "\u2028" ? "\\u2028" : "\\u2029"));
}
