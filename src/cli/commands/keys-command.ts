import type { Command } from "commander";
import { createKeyFile, signerFromKeyFile } from "../../transaction/index.js";
import { addArguments, addOptions, flag, type OptionDeclarations, type OptionValues } from "../declarations.js";
import { type CommandContext, json } from "../output.js";

const newOptions = { json: flag("print the public key as a JSON object") };
const showOptions = { json: flag("print the public key as a JSON object") };

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
    "Create a key: write a new random seed to a file that only you can read.",
    "path of the key file; an existing file is never overwritten",
    newOptions,
  ).action(async (file: string, options: KeysOptions) => {
    print((await createKeyFile(file)).publicKey, options);
    context.notes.write("Back up this file; the key cannot be recovered.\n");
  });
  add("show", "Print the public key of a key file.", "path of the key file", showOptions).action(
    async (file: string, options: KeysOptions) => {
      print((await signerFromKeyFile(file)).publicKey, options);
    },
  );
}
