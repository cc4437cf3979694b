import { TradewireError } from "../../base/errors/index.js";
import { type ArchiveFile, openArchive } from "../../data/archive/index.js";
import type { CsvRow } from "../../data/csv/index.js";
import { assertArchive, STANDARD, standardArchive } from "../command-files.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import { size } from "../formatting.js";
import { type CommandContext, printable, Reported, writeOut } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { maxRowBytesOption } from "../shared-options.js";
import { createTables, type Tables } from "../table.js";

/** The maximum number of sample values of a column, and the maximum length of each. */
const [MAX_SAMPLES, SAMPLE_LENGTH] = [3, 40];

interface ColumnReport {
  readonly name: string;
  nulls: number;
  /** The number of empty texts, which are different from NULL. */
  empty: number;
  /** The first distinct values, truncated. */
  readonly samples: string[];
}

type FileReport = ReturnType<typeof reportOf>;

const inspectOptions = { maxRowBytes: maxRowBytesOption, ...outputOptions };

type InspectCommandOptions = OptionValues<typeof inspectOptions>;

/** Defines the command `inspect`, which shows the content of an archive and whether it is intact. */
export const addInspect = defineCommand(inspectOptions, runInspect);

async function runInspect(path: string, options: InspectCommandOptions, context: CommandContext): Promise<void> {
  const { maxRowBytes } = options;
  context.output.role = "answer";
  if (path !== STANDARD) {
    await assertArchive(path);
  }
  const source = path === STANDARD ? standardArchive(context) : path;
  const files: FileReport[] = [];
  let error: TradewireError | undefined;
  try {
    for await (const file of openArchive(source, { signal: context.signal, maxRowBytes }).files()) {
      await inspectFile(file, files);
    }
  } catch (reason) {
    // A broken archive is reported up to the error, unless even its first file is unreadable.
    if (!(reason instanceof TradewireError) || files.length === 0 || context.signal.aborted) {
      throw reason;
    }
    error = reason;
  }
  const schemaVersions = [...new Set(files.flatMap(({ schemaVersion }) => schemaVersion ?? []))];
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  const format = outputFormat(options, context);
  const report = {
    async table() {
      const tables = createTables(context);
      await writeOut(context, files.map((file) => fileText(file, tables.format)).join(""));
      const all = `${count(rows, "row")} in ${count(files.length, "file")}`;
      const verdict = error === undefined ? "; sizes, checksums and rows are valid" : " before the archive is corrupt";
      await writeOut(context, `${all}${verdict}.\n`);
      tables.printOmissions();
    },
    object: () => ({ file: path, sound: error === undefined, ...(error && { error }), rows, schemaVersions, files }),
    records: () => files.flatMap(({ name: file, columns }) => columns.map((column) => ({ file, ...column }))),
  };
  await printReport(report, format, context);
  if (error !== undefined) {
    throw format === "json" ? new Reported() : error;
  }
}

/** Reads a file to its end, and adds its report even if an error occurs. */
async function inspectFile(file: ArchiveFile, reports: FileReport[]): Promise<void> {
  const columns = file.columns.map((name): ColumnReport => ({ name, nulls: 0, empty: 0, samples: [] }));
  let rows = 0;
  try {
    for await (const batch of file.batches()) {
      rows += batch.rows.length;
      for (const row of batch.rows) {
        countRow(row, columns);
      }
    }
  } finally {
    reports.push(reportOf(file, rows, columns)); // In a stream, the sizes are known only after the end of the file.
  }
}

function reportOf(file: ArchiveFile, rows: number, columns: readonly ColumnReport[]) {
  const { name, chainId, table, schemaVersion, fromBlock, toBlock, compressedSize, size, crc32 } = file;
  return { name, chainId, table, schemaVersion, fromBlock, toBlock, compressedSize, size, crc32, rows, columns };
}

function countRow(row: CsvRow, columns: readonly ColumnReport[]): void {
  for (const [index, column] of columns.entries()) {
    const value = row[index] ?? null;
    if (value === null) {
      column.nulls += 1;
    } else if (value === "") {
      column.empty += 1;
    } else if (column.samples.length < MAX_SAMPLES) {
      const sample = value.length > SAMPLE_LENGTH ? `${value.slice(0, SAMPLE_LENGTH - 1)}…` : value;
      if (!column.samples.includes(sample)) {
        column.samples.push(sample);
      }
    }
  }
}

function fileText(file: FileReport, format: Tables["format"]): string {
  const { name, chainId, table: tableName, schemaVersion, fromBlock, toBlock, compressedSize, rows } = file;
  const about =
    tableName === undefined
      ? "the file name does not contain chain, table and blocks"
      : [
          `chain ${chainId}`,
          `table ${tableName}`,
          ...(schemaVersion === undefined ? [] : [`schema version ${schemaVersion}`]),
          `blocks ${fromBlock} to ${toBlock}`,
        ].join(", ");
  const sizes = [
    count(rows, "row"),
    ...(file.size === undefined ? [] : [size(file.size)]),
    ...(compressedSize === undefined ? [] : [`${size(compressedSize)} in the archive`]),
    ...(file.crc32 === undefined ? [] : [`CRC-32 ${file.crc32.toString(16).padStart(8, "0")}`]),
  ];
  const columns = format(
    ["column", "NULLs", "empty", "samples"],
    file.columns.map((column) => [
      printable(column.name),
      String(column.nulls),
      String(column.empty),
      column.samples.map((sample) => printable(JSON.stringify(sample))).join(" "),
    ]),
    { indent: "  " },
  );
  return `${printable(name)}\n  ${printable(about)}\n  ${sizes.join(", ")}\n${columns}\n`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
