import { Option } from "commander";
import type { ArchiveFile } from "../archive/files.js";
import type { CsvRow } from "../csv/format.js";
import { nullStringOf } from "../csv/format.js";
import type { CsvBatch } from "../csv/reader.js";
import { ProtocolError, RequestError } from "../errors/index.js";
import { wait } from "../signal/wait.js";
import { type CommandContext, writeOut } from "./output.js";
import { createRowFormat, type RowFormatName } from "./row-format.js";
import { styled } from "./style.js";
import { LISTED, widthOf } from "./terminal.js";
import { wholeNumber } from "./whole-number.js";

/** The values of {@link printRowsOptions}. */
export interface PrintRowsOptions {
  readonly columns?: readonly string[];
  readonly limit?: number;
  readonly all?: boolean;
  readonly null?: string;
  readonly maxRowBytes?: number;
}

/**
 * Create the command-line options that choose which rows are printed, and how. The command itself adds the option
 * `--format`.
 *
 * @returns the options
 */
export function printRowsOptions(): Option[] {
  return [
    new Option("--columns <names>", "the columns to print, in this order, separated by commas").argParser((text) =>
      text.split(","),
    ),
    new Option(
      "--limit <count>",
      `stop reading after this many rows; on a terminal ${LISTED} by default, elsewhere none`,
    )
      .argParser(wholeNumber)
      .conflicts("all"),
    new Option("--all", "print all rows, also on a terminal"),
    maxRowBytesOption(),
    new Option("--null <text>", "what stands for NULL in csv (nothing by default) and in a table (NULL)"),
  ];
}

/**
 * Create the command-line option for the largest row that is read.
 *
 * @returns the option
 */
export function maxRowBytesOption(): Option {
  return new Option("--max-row-bytes <count>", "the most bytes of a row (64 MiB)").argParser(wholeNumber);
}

/**
 * Check that the options fit the format and each other.
 *
 * @param options the values of the command-line options
 * @param format the format of the rows
 * @throws {@link RequestError} if a column is named twice or empty, or the text for NULL does not fit the format
 */
export function checkPrintRowsOptions({ columns = [], null: nullText }: PrintRowsOptions, format: RowFormatName): void {
  if (columns.includes("") || new Set(columns).size < columns.length) {
    throw new RequestError(`--columns ${columns.join(",")} names a column twice, or none between two commas`, {
      advice: "Name each column once, separated by commas.",
    });
  }
  if (nullText !== undefined && format === "jsonl") {
    throw new RequestError("--null is for csv and table: in JSON, NULL is null", {
      advice: "Leave it out, or choose another --format.",
    });
  }
  nullStringOf({ nullString: format === "csv" ? nullText : undefined });
}

/** A CSV file, as far as its rows are printed. */
export interface RowsFile extends Pick<ArchiveFile, "name" | "columns"> {
  batches(): AsyncIterable<CsvBatch>;
}

/** Text is collected up to about this many characters before it is written. */
const WRITE_SIZE = 64 * 1024;

/**
 * Print the rows of all files, one file after another, at the pace of the reader. If an error occurs, the rows before
 * it are printed first, and CSV then ends inside an open quote, so that no reader takes it for whole.
 *
 * A file of an older schema may lack columns of a newer one. In JSON each row has the columns of its own file. A format
 * with a header has the columns of all files if `allColumns` can tell them before the first row is printed, and NULL
 * where a file lacks a column. Otherwise it has the columns of the first file, and a later file with further columns is
 * an error.
 *
 * @param files the files, in order; each is read to its end before the next is requested
 * @param options the format, and the values of the command-line options
 * @param context standard output, and the signal that ends the printing
 * @param allColumns gets the columns of all files, or undefined; left out if the input cannot be read twice
 * @throws {@link RequestError} if a chosen column does not exist
 * @throws {@link ProtocolError} if a file is broken, or has columns that the printed header lacks
 */
export async function printRows(
  files: AsyncIterable<RowsFile>,
  options: PrintRowsOptions & { readonly format: RowFormatName },
  context: Pick<CommandContext, "out" | "notes" | "environment" | "signal">,
  allColumns?: () => Promise<readonly string[] | undefined>,
): Promise<void> {
  const { out, notes } = context;
  const isShort = out.isTTY === true && options.limit === undefined && options.all !== true;
  const { format: name, limit = isShort ? LISTED : Number.POSITIVE_INFINITY } = options;
  let lacking = "";
  const format = createRowFormat(name, options.null, {
    width: widthOf(context),
    header: (line) => styled(out, "bold", line, context.environment),
    leftOut: (sentence) => {
      lacking = `${sentence}\n`;
    },
  });
  let left = limit;
  let text = "";
  let columns: readonly string[] | undefined;
  const flush = async () => {
    const part = text;
    text = "";
    if (part !== "") {
      await writeOut(context, part);
    }
  };
  try {
    for await (const file of files) {
      if (columns === undefined) {
        columns = options.columns ?? (format.header ? ((await allColumns?.()) ?? file.columns) : undefined);
        await checkColumns(options.columns ?? [], file, allColumns);
      } else if (options.columns === undefined) {
        checkHeader(columns, file);
      }
      const taken = columns ?? file.columns;
      const rowOf = rowTaker(taken, file.columns);
      text += format.text(taken, []);
      if (left > 0) {
        for await (const { rows } of file.batches()) {
          const wanted = rows.length > left ? rows.slice(0, left) : rows;
          left -= wanted.length;
          text += format.text(taken, rowOf === undefined ? wanted : wanted.map(rowOf));
          if (text.length >= WRITE_SIZE) {
            await flush();
          }
          if (left === 0) {
            break;
          }
        }
      }
      if (left === 0) {
        break;
      }
    }
  } catch (reason) {
    if (context.signal.aborted) {
      await writeBriefly(context.out, format.broken());
    } else {
      text += format.end() + format.broken();
      await flush();
    }
    throw reason;
  }
  text += format.end();
  await flush();
  notes.write(lacking);
  if (isShort && left === 0) {
    notes.write(`A terminal gets ${LISTED} rows; --all prints all, --limit another number.\n`);
  }
}

/** How long an interrupted command waits for its reader, in milliseconds. */
const LAST_WRITE_TIMEOUT = 1000;

/** Write a text behind what has been written, but do not wait for a reader that has stopped reading. */
async function writeBriefly(out: CommandContext["out"], text: string): Promise<void> {
  if (text !== "") {
    const written = new Promise<void>((resolve) => {
      out.write(text, () => resolve());
    });
    await Promise.race([written, wait(LAST_WRITE_TIMEOUT)]);
  }
}

/** Create a function that picks columns from a file's rows; `undefined` if the rows can stay as they are. */
function rowTaker(taken: readonly string[], own: readonly string[]): ((row: CsvRow) => CsvRow) | undefined {
  if (taken.length === own.length && taken.every((column, index) => column === own[index])) {
    return undefined;
  }
  const places = taken.map((column) => own.indexOf(column));
  return (row) => places.map((place) => row[place] ?? null);
}

/** Check that the chosen columns exist: in any file if all columns can be known, else in the first file. */
async function checkColumns(
  wanted: readonly string[],
  first: RowsFile,
  allColumns: (() => Promise<readonly string[] | undefined>) | undefined,
): Promise<void> {
  if (wanted.every((column) => first.columns.includes(column))) {
    return;
  }
  const all = await allColumns?.();
  const there = all ?? first.columns;
  const missing = wanted.filter((column) => !there.includes(column));
  if (missing.length > 0) {
    const where = all === undefined ? `in ${JSON.stringify(first.name)}` : "in the archive";
    throw new RequestError(
      `there is no column ${missing.map((column) => JSON.stringify(column)).join(", ")} ${where}`,
      {
        advice: `Choose from: ${there.join(", ")}.`,
      },
    );
  }
}

function checkHeader(columns: readonly string[], { name, columns: own }: RowsFile): void {
  const further = own.filter((column) => !columns.includes(column));
  if (further.length > 0) {
    throw new ProtocolError(
      `${JSON.stringify(name)} has columns that the files before it, and so the header, do not have: ${further.join(", ")}`,
      { advice: "The database schema changes there: name --columns, take --format jsonl, or save the archive first." },
    );
  }
}
