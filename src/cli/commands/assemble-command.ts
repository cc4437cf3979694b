import { basename, extname } from "node:path";
import { RequestError } from "../../base/errors/index.js";
import { profileRules } from "../../base/profile.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { saveArchive } from "../../data/archive/save-archive.js";
import { assemble, capturedChunks } from "../../index.js";
import { extensionsOption, profileOption } from "../client-options.js";
import { parseOutPath, printSavedArchive, readBytes, STANDARD } from "../command-files.js";
import { defineCommand, flag, type OptionValues, text } from "../declarations.js";
import { type CommandContext, writeOut } from "../output.js";
import { resultFormat, resultOutput } from "../output-format.js";

const assembleOptions = {
  out: text("<path>", "folder or file to save to, or - for standard output (default: the capture's name with .zip)"),
  extensions: extensionsOption,
  profile: profileOption,
  force: flag("overwrite an existing file"),
  ...resultOutput,
};

type AssembleCommandOptions = OptionValues<typeof assembleOptions>;

/** Defines the command `assemble`, which builds an archive from a captured stream of chunks. */
export const addAssemble = defineCommand(assembleOptions, runAssemble);

async function runAssemble(file: string, options: AssembleCommandOptions, context: CommandContext): Promise<void> {
  const name = file === STANDARD ? undefined : `${basename(file, extname(file))}.zip`;
  const target = options.out ?? name;
  if (target === undefined) {
    throw new RequestError("standard input has no file name to save the archive under", {
      advice: "Set --out to a path, or to - for standard output.",
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
    target: await parseOutPath(target, ".zip"),
    force,
    fileName: () => name ?? "export.zip",
    signal,
  });
  await printSavedArchive(saved, { start, format: resultFormat(options) }, context);
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
