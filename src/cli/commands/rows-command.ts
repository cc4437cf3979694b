import { openArchive } from "../../data/archive/index.js";
import { archiveColumns } from "../../data/archive/open-archive.js";
import { assertArchive, STANDARD, standardArchive } from "../command-files.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import type { CommandContext } from "../output.js";
import { outputFormat, outputOptions } from "../output-format.js";
import { checkPrintRowsOptions, printRows, printRowsOptions } from "../print-rows.js";

const rowsOptions = {
  ...outputOptions,
  ...printRowsOptions,
};

type RowsCommandOptions = OptionValues<typeof rowsOptions>;

/** Defines the command `rows`, which prints the rows of an archive in order. */
export const addRows = defineCommand(rowsOptions, runRows);

async function runRows(file: string, input: RowsCommandOptions, context: CommandContext): Promise<void> {
  const options = { ...input, format: outputFormat(input, context) };
  checkPrintRowsOptions(options, options.format);
  const { signal } = context;
  const { maxRowBytes } = options;
  if (file === STANDARD) {
    await printRows(openArchive(standardArchive(context), { signal, maxRowBytes }).files(), options, context);
    return;
  }
  const allColumns = () => archiveColumns(file, { signal, maxRowBytes });
  async function* files() {
    await assertArchive(file);
    yield* openArchive(file, { signal, maxRowBytes }).files();
  }
  await printRows(files(), options, context, allColumns);
}
