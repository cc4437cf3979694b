import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";
import type { CsvRow } from "../csv/csv-format.js";
import type { CsvBatch } from "../csv/csv-parser.js";
import type { TableName } from "../schema/table-names.js";
import {
  columnsEver,
  FIRST_SCHEMA_VERSION,
  NEWEST_SCHEMA_VERSION,
  type TableColumn,
  tableSchema,
} from "../schema/table-schema.js";
import { expectedValue, type ReadValue, type TypedValue, valueReader } from "../schema/typed-row.js";
import { nameText } from "../zip/zip-format.js";

const READ_UNTYPED =
  "Read the rows without `typed` to get them unchanged, and report this to the operator of the node.";

/** How rows are typed. */
export interface TypedOptions<Table extends TableName = TableName> {
  /** Whether values have the types of their columns. */
  readonly typed: true;
  /** The table. It is needed for files whose names do not contain it, and must match the names of the others. */
  readonly table?: Table | undefined;
  /**
   * Called for data of newer nodes that this release does not know: once for each column of a file that has no known
   * type, or contains an enum value or code without a known name. The values stay unchanged, and such a code is a
   * `bigint`. By default the process emits a warning, once for each column of a table. An error that it throws stops the
   * reading.
   */
  readonly onUnknown?: ((unknown: UnknownPart) => void) | undefined;
}

/** Some typed rows of a file, in order. */
export interface TypedBatch {
  /** The names in the header row: the same array in every batch. */
  readonly columns: readonly string[];
  readonly rows: TypedValue[][];
}

/** A file, and the parts of its name. */
export interface TypedFile {
  readonly name: string;
  readonly table?: TableName;
  readonly schemaVersion?: bigint | undefined;
}

/**
 * Converts the values of a file's rows to the types of their columns. The columns are resolved once. A column name has
 * the same type in all versions of the database schema, so the version need not be known.
 *
 * @throws {@link RequestError} if the table is unknown, or differs from the options
 * @throws {@link ProtocolError} if a column of the file's version is missing, or a value does not fit its type
 */
export async function* typedBatches(
  file: TypedFile,
  batches: AsyncGenerator<CsvBatch, void, undefined>,
  options: TypedOptions,
  requestedTable: () => Promise<TableName | undefined>,
): AsyncGenerator<TypedBatch, void, undefined> {
  let typeRow: ((row: CsvRow, number: number) => TypedValue[]) | undefined;
  let number = 0;
  for await (const batch of batches) {
    const { columns } = batch;
    typeRow ??= rowTyper(file, tableOf(file, options.table ?? (await requestedTable())), columns, options);
    const rows: TypedValue[][] = [];
    try {
      for (const row of batch.rows) {
        number += 1;
        rows.push(typeRow(row, number));
      }
    } catch (reason) {
      yield { columns, rows };
      throw reason;
    }
    yield { columns, rows };
  }
}

function tableOf({ name, table }: TypedFile, wanted: TableName | undefined): TableName {
  if (table !== undefined && wanted !== undefined && table !== wanted) {
    throw new RequestError(`${nameText(name)} contains the table ${table}, not ${wanted}`, {
      advice: `Pass the table ${table}, or none: the file's name contains it.`,
    });
  }
  const known = table ?? wanted;
  if (known === undefined) {
    throw new RequestError(`the name ${nameText(name)} does not contain the table of its rows`, {
      advice: 'Set the table: rows({ typed: true, table: "trades" }).',
    });
  }
  return known;
}

/** Returns a function that converts rows. The columns are resolved here. */
function rowTyper(file: TypedFile, table: TableName, names: readonly string[], { onUnknown }: TypedOptions) {
  checkColumns(file, table, names, READ_UNTYPED);
  const report = reportUnknown(onUnknown, { file: file.name, table });
  const known = new Map(columnsEver(table).map((column) => [column.name, column]));
  const readers = names.map((name): { readonly column: TableColumn | undefined; readonly read: ReadValue } => {
    const column = known.get(name);
    if (column === undefined) {
      report(name);
      return { column, read: (text) => text };
    }
    return { column, read: valueReader(column, (text) => report(name, text)) };
  });
  return (row: CsvRow, number: number): TypedValue[] => {
    const values = new Array<TypedValue>(readers.length);
    let index = 0;
    for (const { column, read } of readers) {
      const text = row[index] ?? null;
      const value = text === null ? null : read(text);
      if (value === undefined || (value === null && column?.nullable === false)) {
        throw misfitError(file, number, column, text);
      }
      values[index++] = value;
    }
    return values;
  };
}

function misfitError(
  file: TypedFile,
  row: number,
  column: TableColumn | undefined,
  text: string | null,
): ProtocolError {
  const where = `${nameText(file.name)}, row ${row}${column === undefined ? "" : `, column ${column.name}`}`;
  const expected = column === undefined ? "" : `Expected ${expectedValue(column)} (${column.type}). `;
  return new ProtocolError(
    `${where}: invalid value ${text === null ? "NULL" : quoted(text)} for the type of the column`,
    {
      advice: `${expected}Read the rows without \`typed\` to get the values unchanged.`,
    },
  );
}

/** A column or value of a newer node that this release does not know. */
export interface UnknownPart {
  /** The file's name. */
  readonly file: string;
  readonly table: TableName;
  /** The column's name. */
  readonly column: string;
  /** The unknown enum value or number of a code; absent if the column itself is unknown. */
  readonly value?: string;
}

/** Maximum number of columns that are reported. */
const MAX_REPORTED = 1000;

/** The columns that a warning was emitted for. */
const warned = new Set<string>();

/** Returns a function that reports unknown columns and values, once for each column. */
export function reportUnknown(
  onUnknown: ((unknown: UnknownPart) => void) | undefined,
  where: Pick<UnknownPart, "file" | "table">,
): (column: string, value?: string) => void {
  const reported = onUnknown === undefined ? warned : new Set<string>();
  return (column, value) => {
    const key = `${where.table}.${column}`;
    if (reported.has(key) || reported.size >= MAX_REPORTED) {
      return;
    }
    reported.add(key);
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
      ? `the column ${quoted(column)} of ${table} is unknown`
      : `the value ${quoted(value)} in the column ${quoted(column)} of ${table} is unknown`;
  return `${what} and is returned unchanged (${quoted(file, 120)})`;
}

/**
 * Checks that a file of a known schema version has all columns of that version, in any order. It may have more.
 *
 * @throws {@link ProtocolError} if columns are missing; the error names them
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
      `${nameText(name)} lacks ${missing.length === 1 ? "a column" : `${missing.length} columns`} of ${table}, schema version ${schemaVersion}: ${missing.map((column) => column.name).join(", ")}`,
      { advice },
    );
  }
}
