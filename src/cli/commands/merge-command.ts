import { monotonicMs } from "../../base/runtime/index.js";
import { mergeArchives } from "../../data/archive/index.js";
import { profileOption } from "../client-options.js";
import { assertArchive, parseOutPath, printSavedArchive } from "../command-files.js";
import { defineCommand, flag, type OptionValues, required, text } from "../declarations.js";
import type { CommandContext } from "../output.js";
import { resultFormat, resultOutput } from "../output-format.js";
import { maxRowBytesOption } from "../print-rows.js";

const mergeOptions = {
  out: required(text("<path>", "folder or file to save to")),
  profile: profileOption,
  maxRowBytes: maxRowBytesOption,
  force: flag("overwrite an existing file"),
  ...resultOutput,
};

/** Defines the command `merge`, which joins archives whose ranges follow one another. */
export const addMerge = defineCommand(
  mergeOptions,
  async (files: string[], options: OptionValues<typeof mergeOptions>, context: CommandContext) => {
    await Promise.all(files.map(assertArchive));
    const start = monotonicMs();
    const force = options.force === true;
    const { profile, maxRowBytes } = options;
    const target = await parseOutPath(options.out, ".zip");
    const saved = await mergeArchives(files, target, { force, profile, maxRowBytes, signal: context.signal });
    await printSavedArchive(saved, { start, format: resultFormat(options) }, context);
  },
);
