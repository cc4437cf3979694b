import type { Command } from "commander";
import { createKeyFile, signerFromKeyFile } from "../../trade/transaction/index.js";
import { addArguments, addOptions, type OptionValues } from "../declarations.js";
import type { CommandContext } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";

type KeysOptions = OptionValues<typeof outputOptions>;

/** Defines the commands `keys new` and `keys show` for key files. They print only public keys, as 64 hex digits. */
export function addKeys(keys: Command, context: CommandContext): void {
  const print = (publicKey: string, options: KeysOptions) => {
    const table = () => {
      context.out.write(`${publicKey}\n`);
    };
    return printReport({ table, object: () => ({ publicKey }) }, outputFormat(options, context), context);
  };
  const add = (name: string, description: string, file: string) =>
    addOptions(
      addArguments(keys.command(name).description(description), [{ name: "<file>", description: file }]),
      outputOptions,
    );
  add(
    "new",
    "Create a key: write a new random seed to a file that only you can read.",
    "path of the key file; an existing file is never overwritten",
  ).action(async (file: string, options: KeysOptions) => {
    await print((await createKeyFile(file)).publicKey, options);
    context.notes.write("Back up this file; the key cannot be recovered.\n");
  });
  add("show", "Print the public key of a key file.", "path of the key file").action(
    async (file: string, options: KeysOptions) => {
      await print((await signerFromKeyFile(file)).publicKey, options);
    },
  );
}
