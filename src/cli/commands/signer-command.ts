import type { Command } from "commander";
import { connectSigner, type SignerMode } from "../../index.js";
import { addArguments, addOptions, flag, type OptionValues } from "../declarations.js";
import { type CommandContext, json } from "../output.js";

const controlOptions = { json: flag("print the result as a JSON object") };

type ControlOptions = OptionValues<typeof controlOptions>;

/**
 * Defines the commands that control a signer process.
 *
 * @param signer the command `signer`, which gets its subcommands
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSigner(signer: Command, context: CommandContext): void {
  const { out, signal } = context;
  const socket = { name: "<socket>", description: "path of the signer's socket" };
  const mode = signer
    .command("mode")
    .description(
      "Print the mode of a signer, or set it: active, reducing or halted. Only the operator's socket loosens it.",
    );
  const modes: readonly SignerMode[] = ["active", "reducing", "halted"];
  addArguments(mode, [socket, { name: "[mode]", description: "the new mode", choices: modes }]);
  addOptions(mode, controlOptions).action(
    async (path: string, next: SignerMode | undefined, options: ControlOptions) => {
      await using remote = await connectSigner(path, { signal });
      if (next !== undefined) {
        await remote.setMode(next);
      }
      const now = await remote.mode();
      out.write(options.json === true ? json({ mode: now }) : `${now}\n`);
    },
  );
  const kill = signer
    .command("kill")
    .description(
      "Halt a signer for all programs, cancel all orders and stop orders of its key, and print what was observed.",
    );
  addArguments(kill, [socket]).action(async (path: string) => {
    await using remote = await connectSigner(path, { signal });
    out.write(json(await remote.kill({ signal })));
  });
}
