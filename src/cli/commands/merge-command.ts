import { monotonicMs } from "../../base/runtime/index.js";
import { mergeArchives } from "../../data/archive/index.js";
import { assertArchive, parseSavePath, printSavedArchive } from "../command-files.js";
import { defineCommand, type OptionValues, required } from "../declarations.js";
import type { CommandContext } from "../output.js";
import { outputFormat, outputOptions } from "../output-format.js";
import { forceOption, maxRowBytesOption, profileOption, toOption } from "../shared-options.js";

const mergeOptions = {
  to: required(toOption("a folder or a file")),
  profile: profileOption,
  maxRowBytes: maxRowBytesOption,
  force: forceOption,
  ...outputOptions,
};

/** Defines the command `merge`, which joins archives whose ranges follow one another. */
export const addMerge = defineCommand(
  mergeOptions,
  async (files: string[], options: OptionValues<typeof mergeOptions>, context: CommandContext) => {
    await Promise.all(files.map(assertArchive));
    const start = monotonicMs();
    const force = options.force === true;
    const { profile, maxRowBytes } = options;
    const target = await parseSavePath(options.to, ".zip");
    const saved = await mergeArchives(files, target, { force, profile, maxRowBytes, signal: context.signal });
    await printSavedArchive(saved, { start, format: outputFormat(options, context) }, context);
  },
);
