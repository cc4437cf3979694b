import { type Command, Option } from "commander";
import { archiveColumns } from "../../archive/columns.js";
import { openArchive } from "../../archive/open.js";
import { requireArchive, STANDARD, standardInput } from "../input.js";
import type { CommandContext } from "../output.js";
import { checkPrintRowsOptions, type PrintRowsOptions, printRows, printRowsOptions } from "../print-rows.js";
import { type RowFormatName, rowFormats } from "../row-format.js";

interface RowsCommandOptions extends PrintRowsOptions {
  readonly format?: RowFormatName;
}

/**
 * Add the command `rows`, which prints the rows of an archive in order.
 *
 * @param command the command `rows`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addRows(command: Command, context: CommandContext): void {
  command
    .argument("<file>", "the archive, or - for standard input")
    .addOption(
      new Option("--format <name>", "how to print them; by default a table on a terminal, else jsonl").choices(
        rowFormats,
      ),
    );
  for (const option of printRowsOptions()) {
    command.addOption(option);
  }
  command.action((file: string, options: RowsCommandOptions) => runRows(file, options, context));
}

async function runRows(file: string, given: RowsCommandOptions, context: CommandContext): Promise<void> {
  const options = { ...given, format: given.format ?? (context.out.isTTY === true ? "table" : "jsonl") } as const;
  checkPrintRowsOptions(options, options.format);
  const { signal } = context;
  const { maxRowBytes } = options;
  if (file === STANDARD) {
    await printRows(openArchive(standardInput(context), { signal, maxRowBytes }).files(), options, context);
    return;
  }
  const allColumns = () => archiveColumns(file, { signal, maxRowBytes });
  async function* files() {
    await requireArchive(file);
    yield* openArchive(file, { signal, maxRowBytes }).files();
  }
  await printRows(files(), options, context, allColumns);
}
