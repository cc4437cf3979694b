import { RequestError } from "../../base/errors/index.js";
import { type ArchiveFile, openArchive } from "../../data/archive/index.js";
import { archiveColumns, archiveHeads } from "../../data/archive/open-archive.js";
import { allOf, blockTest, rowTest } from "../../data/archive/row-filter.js";
import { requireOrder } from "../../data/history/export-request.js";
import type { BlockRange } from "../../data/history/segments.js";
import { readPeriod } from "../../data/listing/listing-filters.js";
import { microsFrom } from "../../data/schema/time-text.js";
import { assertArchive, STANDARD, standardArchive } from "../command-files.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import type { CommandContext } from "../output.js";
import { outputFormat, outputOptions } from "../output-format.js";
import { checkPrintRowsOptions, printRows, printRowsOptions } from "../print-rows.js";
import { blocksIn, identifiedOwners } from "../row-selection.js";
import { archiveRowOptions, partOptions } from "../shared-options.js";

const rowsOptions = {
  ...outputOptions,
  ...partOptions("files that end before it are skipped", "files that start after it are skipped"),
  ...archiveRowOptions,
  ...printRowsOptions,
};

type RowsCommandOptions = OptionValues<typeof rowsOptions>;

/** Defines the command `rows`, which prints the rows of an archive in order. */
export const addRows = defineCommand(rowsOptions, runRows);

async function runRows(file: string, input: RowsCommandOptions, context: CommandContext): Promise<void> {
  const options = { ...input, format: outputFormat(input, context) };
  checkPrintRowsOptions(options, options.format);
  const { signal } = context;
  const { maxRowBytes, since, until } = options;
  readPeriod({ since, until });
  const blocks = await blocksOf(options, async () =>
    file === STANDARD ? undefined : (await archiveHeads(file, { signal, maxRowBytes }))?.at(-1)?.name,
  );
  const [from, before] = [since, until].map((time) => (time === undefined ? undefined : microsFrom(time)));
  const filter = { ...identifiedOwners(options), from, before };
  const testOf = (each: ArchiveFile) => allOf([blocks && blockTest(blocks, each), rowTest(filter, each)]);
  if (file === STANDARD) {
    const { files } = openArchive(standardArchive(context), { signal, maxRowBytes });
    await printRows({ files: files(), testOf }, options, context);
    return;
  }
  const allColumns = () => archiveColumns(file, { signal, maxRowBytes });
  async function* files() {
    await assertArchive(file);
    yield* openArchive(file, { signal, maxRowBytes }).files();
  }
  await printRows({ files: files(), allColumns, testOf }, options, context);
}

/** What is not given ends with the archive. */
const ALL_BLOCKS: BlockRange = { fromBlock: 1n, toBlock: 2n ** 63n - 1n };

/**
 * Returns the blocks that the options select, if they select any. A block that counts from the end counts from that of the archive.
 *
 * @throws {@link RequestError} if the end is not known, or the range is reversed
 */
async function blocksOf(
  options: RowsCommandOptions,
  last: () => Promise<Partial<BlockRange> | undefined>,
): Promise<BlockRange | undefined> {
  const asked = blocksIn(options);
  const named = Object.values(asked);
  if (named.length === 0) {
    return undefined;
  }
  const end = named.some((block) => block < 0n) ? (await last())?.toBlock : 0n;
  if (end === undefined) {
    throw new RequestError("the last block of the archive is not known, so no block can count from it", {
      advice: "Use heights of blocks, or an archive in a file with the name that the node gave it.",
    });
  }
  const { fromBlock, toBlock } = { ...ALL_BLOCKS, ...asked };
  const absolute = (block: bigint) => (block < 0n ? end + 1n + block : block);
  const range = { fromBlock: absolute(fromBlock), toBlock: absolute(toBlock) };
  requireOrder(range);
  return range;
}
