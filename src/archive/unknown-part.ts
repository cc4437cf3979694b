import { quoted } from "../errors/quoted.js";
import type { TableName } from "../schema/tables.js";

/** A part of a file that this release does not know, as a newer node has it. */
export interface UnknownPart {
  /** The file's name. */
  readonly file: string;
  readonly table: TableName;
  /** The column's name. */
  readonly column: string;
  /** The enum value or the number of the code that is not known; absent where the column itself is not. */
  readonly value?: string;
}

/** The most columns that are remembered as told. What is found beyond that is told no more. */
const MAX_TOLD = 1000;

/** The columns that a warning of the process has told. */
const warned = new Set<string>();

/**
 * Make a function that tells what is not known, once for each column.
 *
 * @param onUnknown is told for each file; by default the process emits a warning, once for each column of a table
 * @param where the file and its table
 * @returns the function, which takes a column and, where that is known, the value that is not
 */
export function reportUnknown(
  onUnknown: ((unknown: UnknownPart) => void) | undefined,
  where: Pick<UnknownPart, "file" | "table">,
): (column: string, value?: string) => void {
  const told = onUnknown === undefined ? warned : new Set<string>();
  return (column, value) => {
    const key = `${where.table}.${column}`;
    if (told.has(key) || told.size >= MAX_TOLD) {
      return;
    }
    told.add(key);
    const unknown = { ...where, column, ...(value === undefined ? {} : { value }) };
    if (onUnknown === undefined) {
      process.emitWarning(warning(unknown), "TradewireWarning");
    } else {
      onUnknown(unknown);
    }
  };
}

function warning({ table, column, value, file }: UnknownPart): string {
  const what =
    value === undefined
      ? `the column ${quoted(column)} of ${table} is not known`
      : `${quoted(value)} is not known in the column ${quoted(column)} of ${table}`;
  return `${what} and is kept as it came (${quoted(file, 120)})`;
}
