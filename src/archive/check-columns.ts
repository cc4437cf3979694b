import { ProtocolError } from "../errors/index.js";
import { FIRST_SCHEMA_VERSION, NEWEST_SCHEMA_VERSION, tableSchema } from "../schema/table-schema.js";
import type { TableName } from "../schema/tables.js";
import { nameText } from "../zip/archive-error.js";

/**
 * Check that a file of a known schema version has that version's columns, in any order. It may have more.
 *
 * @param file its name, and the version where it is known; a newer version than this release knows may lack some
 * @param table the table that the file is of
 * @param names the names in its header row
 * @param advice what to do about it: the second line of the error
 * @throws {@link ProtocolError} where columns are missing; it names them
 */
export function checkColumns(
  { name, schemaVersion }: { readonly name: string; readonly schemaVersion?: bigint | undefined },
  table: TableName,
  names: readonly string[],
  advice: string,
): void {
  if (schemaVersion === undefined || schemaVersion < FIRST_SCHEMA_VERSION || schemaVersion > NEWEST_SCHEMA_VERSION) {
    return;
  }
  const present = new Set(names);
  const missing = tableSchema(table, schemaVersion).columns.filter((column) => !present.has(column.name));
  if (missing.length > 0) {
    throw new ProtocolError(
      `${nameText(name)} lacks ${missing.length === 1 ? "a column" : `${missing.length} columns`} that version ${schemaVersion} of ${table} has: ${missing.map((column) => column.name).join(", ")}`,
      { advice },
    );
  }
}
