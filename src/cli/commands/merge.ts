import type { Command } from "commander";
import { mergeArchives } from "../../archive/merge.js";
import { monotonicMs } from "../../runtime/index.js";
import type { Profile } from "../../schema/profile.js";
import { tellSaved } from "../archive-output.js";
import { profileOption } from "../client-options.js";
import { requireArchive } from "../input.js";
import { outTarget } from "../out-target.js";
import type { CommandContext } from "../output.js";
import { maxRowBytesOption } from "../print-rows.js";

interface MergeCommandOptions {
  readonly out: string;
  readonly profile?: Profile;
  readonly maxRowBytes?: number;
  readonly force?: boolean;
  readonly json?: boolean;
}

/**
 * Add the command `merge`, which joins archives whose ranges follow one another.
 *
 * @param command the command `merge`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addMerge(command: Command, context: CommandContext): void {
  command
    .argument("<files...>", "the archives, in any order")
    .requiredOption("-o, --out <path>", "folder or file to save to")
    .addOption(profileOption())
    .addOption(maxRowBytesOption())
    .option("--force", "replace a file that exists")
    .option("--json", "print the result as a JSON object")
    .action(async (files: string[], options: MergeCommandOptions) => {
      await Promise.all(files.map(requireArchive));
      const start = monotonicMs();
      const force = options.force === true;
      const { profile, maxRowBytes } = options;
      const target = await outTarget(options.out, ".zip");
      const saved = await mergeArchives(files, target, { force, profile, maxRowBytes, signal: context.signal });
      tellSaved(saved, { start, asJson: options.json === true }, context);
    });
}
