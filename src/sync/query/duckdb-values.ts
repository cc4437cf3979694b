import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { DuckDBValue } from "@duckdb/node-api";
import type { loadDuckdb } from "../sinks/duckdb/duckdb-package.js";
import { timeText } from "./query-database.js";

type Duckdb = Awaited<ReturnType<typeof loadDuckdb>>;

/** Returns the function that converts values of DuckDB to those of JSON. Nothing is rounded. */
export function jsonConverter(duckdb: Duckdb): (value: DuckDBValue) => JsonValue {
  const { DuckDBBlobValue, DuckDBTimestampTZValue, DuckDBTimestampValue, DuckDBListValue, DuckDBArrayValue } = duckdb;
  const { DuckDBStructValue, DuckDBMapValue, DuckDBUnionValue } = duckdb;

  function jsonOf(value: DuckDBValue): JsonValue {
    if (value === null || typeof value === "string" || typeof value === "boolean") {
      return value;
    }
    if (typeof value === "number") {
      return Number.isFinite(value) ? value : String(value);
    }
    if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) {
      return timeOf(value);
    }
    if (value instanceof DuckDBBlobValue) {
      return Buffer.from(value.bytes).toString("hex");
    }
    if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
      return value.items.map(jsonOf);
    }
    if (value instanceof DuckDBStructValue) {
      const members = Object.entries(value.entries).map(([name, inner]): [string, JsonValue] => [name, jsonOf(inner)]);
      return Object.fromEntries(members);
    }
    if (value instanceof DuckDBMapValue) {
      return value.entries.map((entry): JsonObject => ({ key: jsonOf(entry.key), value: jsonOf(entry.value) }));
    }
    if (value instanceof DuckDBUnionValue) {
      return { [value.tag]: jsonOf(value.value) };
    }
    return String(value);
  }

  /** Both types count microseconds in UTC, but one of them prints the time zone of this process. */
  function timeOf(value: InstanceType<Duckdb["DuckDBTimestampTZValue"] | Duckdb["DuckDBTimestampValue"]>): string {
    if (!value.isFinite) {
      return value.micros > 0n ? "infinity" : "-infinity";
    }
    const zone = value instanceof DuckDBTimestampTZValue ? "+00" : "";
    return timeText(`${new DuckDBTimestampValue(value.micros)}${zone}`);
  }
  return jsonOf;
}
