import type { Command } from "commander";
import { createKeyFile, signerFromKeyFile } from "../../transaction/key-file.js";
import { type CommandContext, json } from "../output.js";

interface KeysOptions {
  readonly json?: boolean;
}

/**
 * Add the commands `keys new` and `keys show` for key files. They print only public keys, as 64 hex digits.
 *
 * @param keys the command `keys`, which is given its arguments, options and action
 * @param context the streams of the command
 */
export function addKeys(keys: Command, context: CommandContext): void {
  const { out } = context;
  const print = (publicKey: string, options: KeysOptions) =>
    out.write(options.json === true ? json({ publicKey }) : `${publicKey}\n`);
  keys
    .command("new")
    .description("Make a key: write a new random seed to a file that you alone may read.")
    .argument("<file>", "path of the key file; one that exists is left alone")
    .option("--json", "print the public key as a JSON object")
    .action(async (file: string, options: KeysOptions) => {
      print((await createKeyFile(file)).publicKey, options);
      context.notes.write("Keep the file: nobody can restore the key.\n");
    });
  keys
    .command("show")
    .description("Print the public key of a key file.")
    .argument("<file>", "path of the key file")
    .option("--json", "print it as a JSON object")
    .action(async (file: string, options: KeysOptions) => {
      print((await signerFromKeyFile(file)).publicKey, options);
    });
}
