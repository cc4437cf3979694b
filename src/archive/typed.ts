import type { CsvRow } from "../csv/format.js";
import type { CsvBatch } from "../csv/reader.js";
import { ProtocolError, RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { columnsEver, type TableColumn } from "../schema/table-schema.js";
import type { TableName } from "../schema/tables.js";
import type { TypedValue } from "../schema/typed-row.js";
import { expectedValue, type ReadValue, valueReader } from "../schema/values.js";
import { nameText } from "../zip/archive-error.js";
import { checkColumns } from "./check-columns.js";
import { reportUnknown, type UnknownPart } from "./unknown-part.js";

const AS_THEY_CAME = "Read the rows without `typed` to have them as they came, and tell who runs the node.";

/** How rows are typed. */
export interface TypedOptions<Table extends TableName = TableName> {
  /** Whether values are given by their types, and not as texts. */
  readonly typed: true;
  /** The table. It is needed for files whose names do not tell it; other files must be of it. */
  readonly table?: Table | undefined;
  /**
   * Called for what this release does not know, as the node is newer: once for a column of a file that has no type, or
   * whose enum value or code has no name. The values are kept as they came, such a code as a `bigint`. Without it, the
   * process emits a warning, once for each column of a table. What it throws ends the reading.
   */
  readonly onUnknown?: ((unknown: UnknownPart) => void) | undefined;
}

/** Some typed rows of a file, in order. */
export interface TypedBatch {
  /** The names in the header row: the same array in every batch. */
  readonly columns: readonly string[];
  readonly rows: TypedValue[][];
}

/** The file that rows are of, as far as its name tells. */
export interface TypedFile {
  readonly name: string;
  readonly table?: TableName;
  readonly schemaVersion?: bigint | undefined;
}

/**
 * Give the values of a file's rows their types. The columns are looked at once; a name keeps its type through all
 * versions of the database schema, so a file whose name has no version needs none.
 *
 * @param file the file, and the table and version of its name
 * @param batches the rows, many at once; their errors pass unchanged
 * @param options the table, and who is told of what is not known
 * @param asked the table that was asked for, where the caller made the call; awaited once the rows are read
 * @returns the typed rows; those before a mistake come before the error
 * @throws {@link RequestError} where the table is not known, or is another than the options say
 * @throws {@link ProtocolError} where a column of the file's version is missing, or a value does not fit its type
 */
export async function* typedBatches(
  file: TypedFile,
  batches: AsyncGenerator<CsvBatch, void, undefined>,
  options: TypedOptions,
  asked: () => Promise<TableName | undefined>,
): AsyncGenerator<TypedBatch, void, undefined> {
  let typeRow: ((row: CsvRow, number: number) => TypedValue[]) | undefined;
  let number = 0;
  for await (const batch of batches) {
    const { columns } = batch;
    typeRow ??= rowTyper(file, tableOf(file, options.table ?? (await asked())), columns, options);
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
    throw new RequestError(`${nameText(name)} is of the table ${table}, not of ${wanted}`, {
      advice: `Give the table ${table}, or none: the file's name tells it.`,
    });
  }
  const known = table ?? wanted;
  if (known === undefined) {
    throw new RequestError(`the name ${nameText(name)} does not tell which table its rows are of`, {
      advice: 'Say which: rows({ typed: true, table: "trades" }).',
    });
  }
  return known;
}

/** Choose once how the values of each column are read. */
function rowTyper(file: TypedFile, table: TableName, names: readonly string[], { onUnknown }: TypedOptions) {
  checkColumns(file, table, names, AS_THEY_CAME);
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
        throw misfit(file, number, column, text);
      }
      values[index++] = value;
    }
    return values;
  };
}

function misfit(file: TypedFile, row: number, column: TableColumn | undefined, text: string | null): ProtocolError {
  const where = `${nameText(file.name)}, row ${row}${column === undefined ? "" : `, column ${column.name}`}`;
  const expected = column === undefined ? "" : `Expected ${expectedValue(column)} (${column.type}). `;
  return new ProtocolError(`${where}: ${text === null ? "NULL" : quoted(text)} does not fit the type of the column`, {
    advice: `${expected}Read the rows without \`typed\` to have the values as they came.`,
  });
}
