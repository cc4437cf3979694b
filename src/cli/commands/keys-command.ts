import type { Command } from "commander";
import { createKeyFile, signerFromKeyFile } from "../../transaction/index.js";
import { addArguments, addOptions, flag, type OptionDeclarations, type OptionValues } from "../declarations.js";
import { type CommandContext, json } from "../output.js";

const newOptions = { json: flag("print the public key as a JSON object") };
const showOptions = { json: flag("print it as a JSON object") };

type KeysOptions = OptionValues<typeof newOptions>;

/**
 * Defines the commands `keys new` and `keys show` for key files. They print only public keys, as 64 hex digits.
 *
 * @param keys the command `keys`, which gets its options and action
 * @param context the streams of the command
 */
export function addKeys(keys: Command, context: CommandContext): void {
  const { out } = context;
  const print = (publicKey: string, options: KeysOptions) =>
    out.write(options.json === true ? json({ publicKey }) : `${publicKey}\n`);
  const add = (name: string, description: string, file: string, options: OptionDeclarations) =>
    addOptions(
      addArguments(keys.command(name).description(description), [{ name: "<file>", description: file }]),
      options,
    );
  add(
    "new",
    "Make a key: write a new random seed to a file that you alone may read.",
    "path of the key file; one that exists is left alone",
    newOptions,
  ).action(async (file: string, options: KeysOptions) => {
    print((await createKeyFile(file)).publicKey, options);
    context.notes.write("Keep the file: nobody can restore the key.\n");
  });
  add("show", "Print the public key of a key file.", "path of the key file", showOptions).action(
    async (file: string, options: KeysOptions) => {
      print((await signerFromKeyFile(file)).publicKey, options);
    },
  );
}
