import { basename, extname } from "node:path";
import { RequestError } from "../../base/errors/index.js";
import { profileRules } from "../../base/profile.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { saveArchive } from "../../data/archive/save-archive.js";
import { assemble, capturedChunks } from "../../index.js";
import { parseSavePath, printSavedArchive, readBytes, STANDARD } from "../command-files.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import { type CommandContext, writeOut } from "../output.js";
import { outputFormat, outputOptions } from "../output-format.js";
import { extensionsOption, forceOption, profileOption, toOption } from "../shared-options.js";

const assembleOptions = {
  to: toOption("a folder, a file, or - for standard output (default: the capture's name with .zip)"),
  extensions: extensionsOption,
  profile: profileOption,
  force: forceOption,
  ...outputOptions,
};

type AssembleCommandOptions = OptionValues<typeof assembleOptions>;

/** Defines the command `assemble`, which builds an archive from a captured stream of chunks. */
export const addAssemble = defineCommand(assembleOptions, runAssemble);

async function runAssemble(file: string, options: AssembleCommandOptions, context: CommandContext): Promise<void> {
  const name = file === STANDARD ? undefined : `${basename(file, extname(file))}.zip`;
  const target = options.to ?? name;
  if (target === undefined) {
    throw new RequestError("standard input has no file name to save the archive under", {
      advice: "Set --to to a path, or to - for standard output.",
    });
  }
  const bytes = archiveOf(file, options, context);
  if (target === STANDARD) {
    for await (const part of bytes) {
      await writeOut(context, part);
    }
    return;
  }
  const start = monotonicMs();
  const force = options.force === true;
  const { signal } = context;
  const saved = await saveArchive(bytes, {
    target: await parseSavePath(target, ".zip"),
    force,
    fileName: () => name ?? "export.zip",
    signal,
  });
  await printSavedArchive(saved, { start, format: outputFormat(options, context) }, context);
}

async function* archiveOf(
  file: string,
  { profile = "specification", extensions = profileRules[profile].extensions }: AssembleCommandOptions,
  context: CommandContext,
): AsyncGenerator<Uint8Array> {
  for await (const { data } of assemble(capturedChunks(readBytes(file, context)), { extensions })) {
    if (data.length > 0) {
      yield data;
    }
  }
}
