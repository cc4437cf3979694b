import { RequestError } from "../../base/errors/index.js";
import { compactParquet } from "../../sync/index.js";
import { defineCommand, parsed, text } from "../declarations.js";
import { grouped } from "../formatting.js";
import { printable } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { parseInteger } from "../parsers.js";
import { rangeOf, rangeOptions } from "../sync/sync-options.js";
import { readTarget, targetOptions } from "../sync/target.js";

const compactOptions = {
  to: text("<target>", "where to save: parquet:FOLDER", { completions: targetOptions.to.completions }),
  table: rangeOptions.table,
  rowsPerFile: parsed("<count>", "maximum number of rows per merged file (default: 1000000)", parseInteger),
  ...outputOptions,
};

/** Defines the command `sync compact`, which joins small Parquet files. */
export const addSyncCompact = defineCommand(compactOptions, async (options, context) => {
  const { out, signal } = context;
  const { kind, place } = readTarget(options, context);
  if (kind !== "parquet") {
    throw new RequestError(`sync compact applies only to Parquet, but the target is ${kind}`, {
      advice: "Use --to parquet:FOLDER.",
    });
  }
  const { tables } = rangeOf(options);
  const found = await compactParquet(place, { tables, rowsPerFile: options.rowsPerFile, signal });
  const { joined, files, rows, busy } = found;
  const left = busy === 0 ? "" : ` ${grouped(BigInt(busy))} could not be merged because a sync was loading; try again.`;
  const what = `${grouped(BigInt(joined))} files with ${grouped(rows)} rows were merged into ${grouped(BigInt(files))}`;
  const nothing = joined === 0 && busy === 0;
  const text = nothing ? "No files to merge" : what;
  const report = {
    table() {
      out.write(`${text} in parquet:${printable(place)}.${left}\n`);
    },
    object: () => found,
  };
  await printReport(report, outputFormat(options, context), context);
});
