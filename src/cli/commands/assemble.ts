import { basename, extname } from "node:path";
import { type Command, Option } from "commander";
import { saveArchive } from "../../archive/save.js";
import { RequestError } from "../../errors/index.js";
import { assemble } from "../../history/assemble.js";
import { capturedChunks } from "../../history/captured.js";
import { monotonicMs } from "../../runtime/index.js";
import { type Profile, profileRules } from "../../schema/profile.js";
import { tellSaved } from "../archive-output.js";
import { profileOption } from "../client-options.js";
import { bytesOf, STANDARD } from "../input.js";
import { outTarget } from "../out-target.js";
import { type CommandContext, writeOut } from "../output.js";

interface AssembleCommandOptions {
  readonly out?: string;
  readonly profile?: Profile;
  readonly extensions?: "required" | "optional";
  readonly force?: boolean;
  readonly json?: boolean;
}

/**
 * Add the command `assemble`, which makes an archive from a captured stream of chunks (specification, 2.7).
 *
 * @param command the command `assemble`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addAssemble(command: Command, context: CommandContext): void {
  command
    .argument("<file>", "the capture, JSON objects one after another, or - for standard input")
    .option(
      "-o, --out <path>",
      "folder or file to save to, or - for standard output; by default the capture's name with .zip",
    )
    .addOption(
      new Option("--extensions <rule>", "whether the first chunk must carry extensions").choices([
        "required",
        "optional",
      ]),
    )
    .addOption(profileOption())
    .option("--force", "replace a file that exists")
    .option("--json", "print the result as a JSON object")
    .action((file: string, options: AssembleCommandOptions) => runAssemble(file, options, context));
}

async function runAssemble(file: string, options: AssembleCommandOptions, context: CommandContext): Promise<void> {
  const name = file === STANDARD ? undefined : `${basename(file, extname(file))}.zip`;
  const target = options.out ?? name;
  if (target === undefined) {
    throw new RequestError("standard input has no name to save the archive under", {
      advice: "Give a path with --out, or --out - for standard output.",
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
    target: await outTarget(target, ".zip"),
    force,
    fileName: () => name ?? "export.zip",
    signal,
  });
  tellSaved(saved, { start, asJson: options.json === true }, context);
}

async function* archiveOf(
  file: string,
  { profile = "specification", extensions = profileRules[profile].extensions }: AssembleCommandOptions,
  context: CommandContext,
): AsyncGenerator<Uint8Array> {
  for await (const { data } of assemble(capturedChunks(bytesOf(file, context)), { extensions })) {
    if (data.length > 0) {
      yield data;
    }
  }
}
