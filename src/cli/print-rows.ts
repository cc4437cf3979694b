import { ProtocolError, RequestError } from "../base/errors/index.js";
import { wait } from "../base/signal/wait.js";
import type { ArchiveFile } from "../data/archive/index.js";
import { nullStringOf } from "../data/csv/csv-format.js";
import { checkColumnNames, namedColumns, unknownColumns } from "./columns.js";
import { type OptionValues, text } from "./declarations.js";
import { grouped } from "./formatting.js";
import { type CommandContext, type OutputContext, styled, widthOf, writeOut } from "./output.js";
import type { OutputFormat } from "./output-format.js";
import { createRowFormat, type Row, type RowFormat } from "./row-format.js";
import { amountOptions, columnsOption, maxRowBytesOption } from "./shared-options.js";
import { LISTED } from "./table.js";

/** The options that choose which rows are printed, and how; commands declare their own `--output`. */
export const printRowsOptions = {
  columns: columnsOption,
  ...amountOptions,
  maxRowBytes: maxRowBytesOption,
  null: text("<text>", "text for NULL (default: empty in csv, NULL in a table)"),
};

/** The values of {@link printRowsOptions}. */
export type PrintRowsOptions = OptionValues<typeof printRowsOptions>;

/**
 * Checks that the options fit the format and each other.
 *
 * @throws {@link RequestError} if a column is named twice or is empty, or the text for NULL does not fit the format
 */
export function checkPrintRowsOptions({ columns = [], null: nullText }: PrintRowsOptions, format: OutputFormat): void {
  checkColumnNames(columns);
  if (nullText !== undefined && (format === "json" || format === "jsonl")) {
    throw new RequestError("--null applies only to csv and table; in JSON, NULL is always null", {
      advice: "Remove it, or choose another --output.",
    });
  }
  nullStringOf({ nullString: format === "csv" ? nullText : undefined });
}

/** The parts of a CSV file, or of a similar source of rows, that printing its rows needs. */
export interface RowsFile<R extends Row = Row> extends Pick<ArchiveFile, "name" | "columns"> {
  batches(): AsyncIterable<{ readonly rows: readonly R[] }>;
}

/** What printing the rows of files needs to know of them. */
export interface PrintedFiles<R extends Row, File extends RowsFile<R>> {
  readonly files: AsyncIterable<File>;
  /** Finds the columns of all files before their rows are read, if it can. */
  readonly allColumns?: (() => Promise<readonly string[] | undefined>) | undefined;
  /** Returns the test of the rows of a file that are printed; without a test, all are. */
  readonly testOf?: ((file: File) => Printing<R>["test"]) | undefined;
}

/** Text is collected up to about this many characters before it is written. */
const WRITE_SIZE = 64 * 1024;

/**
 * Prints the rows of all files, one file after another, at the pace of the reader. If an error occurs, the rows before
 * it are printed first, and CSV then ends inside an open quote, so that no reader accepts it as complete.
 *
 * A file of an older schema may lack columns of a newer one. In JSON each row has the columns of its file. A format
 * with a header has the columns of all files, and NULL where a file lacks a column, if `allColumns` can find them before the
 * first row is printed. Otherwise it has the columns of the first file, and a later file with additional columns is an
 * error.
 *
 * If rows are selected, a note says how many were read and printed.
 *
 * @throws {@link RequestError} if a chosen column does not exist
 * @throws {@link ProtocolError} if a file is broken, or has columns that the printed header lacks
 */
export async function printRows<R extends Row, File extends RowsFile<R>>(
  { files, allColumns, testOf }: PrintedFiles<R, File>,
  options: PrintRowsOptions & { readonly format: OutputFormat },
  context: OutputContext & Pick<CommandContext, "notes" | "environment">,
): Promise<void> {
  const { out, notes } = context;
  const isShort = out.isTTY === true && options.limit === undefined && options.all !== true;
  const { format: name, limit = isShort ? LISTED : Number.POSITIVE_INFINITY } = options;
  let omissions = "";
  const format = createRowFormat(name, options.null, {
    width: widthOf(context),
    header: (line) => styled(out, "bold", line, context.environment),
    onOmission: (sentence) => {
      omissions = `${sentence}\n`;
    },
  });
  let left = limit;
  let [read, printed] = [0, 0];
  let isSelected = false;
  await writeFormatted(format, context, async (output) => {
    const columnsOf = columnChooser(options.columns, format, allColumns);
    for await (const file of files) {
      const columns = await columnsOf(file);
      const test = testOf?.(file);
      isSelected ||= test !== undefined;
      const counts = await printFile(file, columns, { left, test }, { format, output });
      [read, printed] = [read + counts.read, printed + counts.printed];
      left = limit - printed;
      if (left === 0) {
        break;
      }
    }
  });
  notes.write(omissions);
  notes.write(isSelected ? readText(read, printed) : "");
  if (isShort && left === 0) {
    notes.write(`Showing ${LISTED} rows. Use --all to print all rows, or --limit to change the number.\n`);
  }
}

/**
 * Writes rows as CSV, which ends inside an open quote if an error occurs.
 *
 * @throws the errors of `rows` and of {@link writeOut}
 */
export async function printCsv(
  columns: readonly string[],
  rows: AsyncIterable<Row>,
  context: OutputContext,
): Promise<void> {
  const format = createRowFormat("csv", undefined);
  await writeFormatted(format, context, async (output) => {
    for await (const row of rows) {
      output.append(format.text(columns, [row]));
      if (output.isFull()) {
        await output.flush();
      }
    }
    output.append(format.text(columns, []));
  });
}

/** Writes rows in a format, and then its end: after an error, the one that marks the rows as incomplete. */
async function writeFormatted(
  format: RowFormat,
  context: OutputContext,
  write: (output: BufferedOutput) => Promise<void>,
): Promise<void> {
  const output = bufferedOutput(context);
  try {
    await write(output);
  } catch (reason) {
    if (reason instanceof RequestError && !output.isBegun()) {
      throw reason; // As with any other wrong option, nothing is printed.
    }
    output.append(format.broken());
    if (context.signal.aborted) {
      await writeBriefly(context.out, output.taken());
    } else if (context.output.failure === undefined) {
      await output.flush();
    }
    throw reason;
  }
  output.append(format.end());
  await output.flush();
}

interface BufferedOutput {
  append(text: string): void;
  /** Whether any text was appended. */
  isBegun(): boolean;
  /** Removes the text that was not written yet. */
  taken(): string;
  isFull(): boolean;
  /** Writes the text, and waits until the stream has capacity for more. */
  flush(): Promise<void>;
}

function bufferedOutput(context: OutputContext): BufferedOutput {
  let buffered = "";
  let isBegun = false;
  const taken = () => {
    const part = buffered;
    buffered = "";
    return part;
  };
  return {
    append(text) {
      buffered += text;
      isBegun ||= text !== "";
    },
    isBegun: () => isBegun,
    taken,
    isFull: () => buffered.length >= WRITE_SIZE,
    async flush() {
      const part = taken();
      if (part !== "") {
        await writeOut(context, part);
      }
    },
  };
}

export function readText(read: number, printed: number): string {
  return `Read ${grouped(read)} rows, printed ${grouped(printed)}.\n`;
}

/** Which rows are printed: those that fit, `left` at most. */
interface Printing<R extends Row> {
  readonly left: number;
  readonly test: ((row: R) => boolean) | undefined;
}

/** Prints rows of a file, and returns how many rows were read and printed. */
async function printFile<R extends Row>(
  file: RowsFile<R>,
  columns: readonly string[],
  { left, test }: Printing<R>,
  { format, output }: { readonly format: RowFormat; readonly output: BufferedOutput },
): Promise<{ read: number; printed: number }> {
  const pick = columnPicker(columns, file.columns);
  const counts = { read: 0, printed: 0 };
  output.append(format.text(columns, []));
  if (left === 0) {
    return counts;
  }
  for await (const { rows } of file.batches()) {
    const { taken, read, failure } = takeRows(rows, { left: left - counts.printed, test });
    counts.read += read;
    counts.printed += taken.length;
    output.append(format.text(columns, pick === undefined ? taken : taken.map(pick)));
    if (failure !== undefined) {
      throw failure.reason;
    }
    if (output.isFull()) {
      await output.flush();
    }
    if (counts.printed === left) {
      break;
    }
  }
  return counts;
}

/** Some of the rows of a batch. */
interface TakenRows<R extends Row> {
  readonly taken: readonly R[];
  /** The number of rows up to the last one that had to be looked at. */
  readonly read: number;
  /** Why the row after them could not be tested. */
  readonly failure?: { readonly reason: unknown };
}

/** Takes the rows that fit, `left` at most. */
export function takeRows<R extends Row>(rows: readonly R[], { left, test }: Printing<R>): TakenRows<R> {
  if (test === undefined) {
    const taken = rows.length > left ? rows.slice(0, left) : rows;
    return { taken, read: taken.length };
  }
  const taken: R[] = [];
  let read = 0;
  try {
    for (const row of rows) {
      if (taken.length === left) {
        break;
      }
      if (test(row)) {
        taken.push(row);
      }
      read += 1;
    }
  } catch (reason) {
    return { taken, read, failure: { reason } };
  }
  return { taken, read };
}

/** How long an interrupted command waits for its reader, in milliseconds. */
const LAST_WRITE_TIMEOUT = 1000;

/** Writes a text after all others, without waiting for a reader that has stopped reading. */
async function writeBriefly(out: CommandContext["out"], text: string): Promise<void> {
  if (text !== "") {
    const written = new Promise<void>((resolve) => {
      out.write(text, () => resolve());
    });
    await Promise.race([written, wait(LAST_WRITE_TIMEOUT)]);
  }
}

/** Creates the function that returns the columns to print of each file. The first file decides on the header. */
export function columnChooser(
  chosen: readonly string[] | undefined,
  format: Pick<RowFormat, "header">,
  allColumns: (() => Promise<readonly string[] | undefined>) | undefined,
): (file: Pick<RowsFile, "name" | "columns">) => Promise<readonly string[]> {
  let header: readonly string[] | undefined;
  return async (file) => {
    if (header === undefined) {
      const ofAll = format.header && chosen === undefined ? ((await allColumns?.()) ?? file.columns) : undefined;
      header = chosen === undefined ? ofAll : await existingColumns(chosen, file, allColumns);
    } else if (chosen === undefined) {
      checkHeader(header, file);
    }
    return header ?? file.columns;
  };
}

/** Creates the function that picks columns from a file's rows; `undefined` if the rows can stay unchanged. */
export function columnPicker(
  columns: readonly string[],
  fileColumns: readonly string[],
): ((row: Row) => Row) | undefined {
  if (columns.length === fileColumns.length && columns.every((column, index) => column === fileColumns[index])) {
    return undefined;
  }
  const indexes = columns.map((column) => fileColumns.indexOf(column));
  return (row) => indexes.map((index) => row[index] ?? null);
}

/** Finds the chosen columns: in any file if all columns can be found, otherwise in the first file. */
async function existingColumns(
  chosen: readonly string[],
  first: Pick<RowsFile, "name" | "columns">,
  allColumns: (() => Promise<readonly string[] | undefined>) | undefined,
): Promise<readonly string[]> {
  const ofFirst = namedColumns(chosen, first.columns);
  if (ofFirst.every((column) => first.columns.includes(column))) {
    return ofFirst;
  }
  const all = await allColumns?.();
  const available = all ?? first.columns;
  const columns = namedColumns(chosen, available);
  const missing = columns.filter((column) => !available.includes(column));
  if (missing.length > 0) {
    throw unknownColumns(missing, available, all === undefined ? `in ${JSON.stringify(first.name)}` : "in the archive");
  }
  return columns;
}

function checkHeader(header: readonly string[], { name, columns }: Pick<RowsFile, "name" | "columns">): void {
  const further = columns.filter((column) => !header.includes(column));
  if (further.length > 0) {
    throw new ProtocolError(`${JSON.stringify(name)} has columns that are not in the header: ${further.join(", ")}`, {
      advice: "The database schema changes here. Use --columns or --output jsonl, or save the archive first.",
    });
  }
}
