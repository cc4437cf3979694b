import { createReadStream } from "node:fs";
import type { JsonValue } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { RequestError } from "../../base/errors/index.js";
import { saveUnverified } from "../../base/file/atomic-file.js";
import type { QueryDatabase, QueryRows } from "../../sync/query/sources.js";
import { parseSavePath, readText, STANDARD } from "../command-files.js";
import { choice, defineCommand, type OptionValues } from "../declarations.js";
import { type CommandContext, Reported } from "../output.js";
import { jsonFlag, OUTPUT, outputFormat, outputFormats, printReport } from "../output-format.js";
import { checkPrintRowsOptions, printRows, printRowsOptions, type RowsFile } from "../print-rows.js";
import { type OpenedSource, openSource, sourceOptions } from "../query/query-sources.js";
import { amountOptions, estimateOption, forceOption, toOption } from "../shared-options.js";
import { rangesText } from "../sync/sync-options.js";

const queryOptions = {
  ...sourceOptions,
  output: choice(
    "<format>",
    "format of the output; parquet saves the rows (default: table on a terminal, otherwise jsonl)",
    [...outputFormats, "parquet"],
    OUTPUT,
  ),
  to: toOption("the Parquet file of --output parquet"),
  force: forceOption,
  json: jsonFlag,
  estimate: estimateOption,
  ...amountOptions,
  null: printRowsOptions.null,
};

type QueryCommandOptions = OptionValues<typeof queryOptions>;

const addRunning = defineCommand(queryOptions, runQuery);

/** Defines the command `query`, which answers SQL from a node's history, a synced database or archives. */
export function addQuery(command: Command, context: CommandContext): void {
  acceptComments(command);
  addRunning(command, context);
}

/** A statement that begins with a comment. No option has a blank in place of its name, or a line break without a value. */
const COMMENTED = /^--(?:\s|(?![\w-]+=).*\n)/u;

/** Makes a command take a statement that begins with a comment for its argument, and not for an option. */
function acceptComments(command: Command): void {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (args) => {
    const at = args.findIndex((arg) => arg === "--" || COMMENTED.test(arg));
    const statement = args[at];
    if (statement === undefined || statement === "--") {
      return parse(args);
    }
    const { operands, unknown } = parse(args.toSpliced(at, 1));
    return { operands: [statement, ...operands], unknown };
  };
}

async function runQuery(
  given: string | undefined,
  options: QueryCommandOptions,
  context: CommandContext,
): Promise<void> {
  const runRows = statementRunner(options, context);
  await using source = openSource(options, context);
  const run = options.estimate === true ? estimateRunner(options, source) : runRows;
  if (given === undefined && options.output !== "parquet" && isTerminal(context)) {
    const { runPrompt } = await import("../query/prompt.js");
    await runPrompt(source, run, context);
    return;
  }
  await run(given ?? (await readText(STANDARD, "the statement", context)), source, context);
}

function isTerminal({ in: input, out }: CommandContext): boolean {
  return out.isTTY === true && "isTTY" in input && input.isTTY === true;
}

/** Runs a statement, and prints or saves its rows. */
export type RunStatement = (sql: string, source: OpenedSource, context: CommandContext) => Promise<void>;

/**
 * Checks how rows are printed, and returns the function that runs a statement.
 *
 * @throws {@link RequestError} if the options do not fit each other
 */
function statementRunner(options: QueryCommandOptions, context: CommandContext): RunStatement {
  const { output, to, force, json, limit, all, null: nullText } = options;
  if (output === "parquet") {
    if (to === undefined || limit !== undefined || all === true || nullText !== undefined) {
      throw new RequestError(
        to === undefined ? "--output parquet needs --to" : "--limit, --all and --null apply to rows that are printed",
        { advice: to === undefined ? "Name the file, such as --to rows.parquet." : "Use LIMIT in the statement." },
      );
    }
    return (sql, source, { signal }) =>
      withDatabase(sql, source, signal, context, (database) =>
        saveParquet(database, sql, { to, force, json }, context),
      );
  }
  if (to !== undefined || force === true) {
    throw new RequestError("--to and --force need --output parquet", {
      advice: "Redirect the output to a file, or add --output parquet.",
    });
  }
  const format = outputFormat({ output, json }, context);
  checkPrintRowsOptions(options, format);
  return (sql, source, { out, output: state, signal, notes, environment }) =>
    withDatabase(sql, source, signal, context, async (database) => {
      const rows = await database.query(sql); // Before anything is printed.
      await printRows(
        { files: fileOf(rows) },
        { ...options, format },
        { out, output: state, signal, notes, environment },
      );
    });
}

/**
 * Returns the function that estimates what a statement would export.
 *
 * @throws {@link RequestError} if the source exports nothing
 */
function estimateRunner({ output, json }: QueryCommandOptions, { estimate }: OpenedSource): RunStatement {
  if (estimate === undefined) {
    throw new RequestError("--estimate applies only to a node: nothing else is exported", {
      advice: "Remove --estimate, or the option that names another source.",
    });
  }
  return async (sql, _, context) => {
    const { estimateReport, targetBytes } = await import("../estimate.js");
    const exports = await estimate(sql, context.signal);
    const target = { name: "the cache", bytes: targetBytes("duckdb", exports) };
    const format = outputFormat({ output: output === "parquet" ? undefined : output, json }, context);
    await printReport(estimateReport(exports, target, context), format, context);
  };
}

/** Opens the database of a statement, and reports the blocks that it lacks after its rows. */
async function withDatabase(
  sql: string,
  source: OpenedSource,
  signal: AbortSignal,
  { err }: Pick<CommandContext, "err">,
  use: (database: QueryDatabase) => Promise<void>,
): Promise<void> {
  await using database = await source.open(sql, signal);
  await use(database);
  if (database.gaps.length > 0) {
    err.write(`tradewire: ${rangesText(source.gapsHeading, database.gaps)}`);
    throw new Reported();
  }
}

async function* fileOf(rows: QueryRows): AsyncGenerator<RowsFile> {
  yield { name: "the result", ...rows };
}

async function saveParquet(
  database: QueryDatabase,
  sql: string,
  { to, force, json }: { readonly to: string; readonly force: boolean | undefined; readonly json: boolean | undefined },
  context: CommandContext,
): Promise<void> {
  if (database.saveParquet === undefined) {
    throw new RequestError("--output parquet does not apply to PostgreSQL", {
      advice: "Use --output csv, or query a DuckDB file or a folder of Parquet files.",
    });
  }
  const target = await parseSavePath(to, ".parquet");
  const rows = await database.saveParquet(sql);
  const saved = await saveUnverified(createReadStream(rows), {
    target,
    fileName: () => "rows.parquet",
    force: force === true,
  });
  const report = {
    table() {
      context.out.write(`${saved.path}\n`);
    },
    object: (): { readonly [name: string]: JsonValue } => ({ ...saved }),
  };
  await printReport(report, outputFormat({ json }, context), context);
}
