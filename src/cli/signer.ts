import { Option } from "commander";
import { SEED_VARIABLE } from "../config/environment.js";
import { RequestError } from "../errors/index.js";
import { signerFromKeyFile } from "../transaction/key-file.js";
import { type Signer, signerFromEnvironment } from "../transaction/signer.js";
import type { Streams } from "./output.js";

/**
 * Create the option for the key file. No option takes the seed itself, because other users of a machine can read
 * arguments.
 *
 * @returns the option
 */
export function keyFileOption(): Option {
  return new Option(
    "--key-file <file>",
    `file with the key to sign with; else the variable ${SEED_VARIABLE} holds a seed`,
  );
}

/**
 * Get the signer that the command line or the environment chooses. The variable with the seed is removed from the
 * environment, so that nothing made from the environment later, such as a child process, holds the seed.
 *
 * @param options `keyFile` is the path of a key file, which has precedence over the environment
 * @param context the environment variables
 * @returns the signer
 * @throws {@link RequestError} if no key is given, or the variable holds no seed of 64 hex digits
 * @throws {@link FileError} if the key file cannot be read, may be read by others, or holds no seed
 */
export async function commandSigner(
  { keyFile }: { readonly keyFile?: string },
  { environment }: Pick<Streams, "environment">,
): Promise<Signer> {
  if (keyFile !== undefined) {
    return signerFromKeyFile(keyFile);
  }
  if (environment[SEED_VARIABLE] === undefined) {
    throw new RequestError("there is no key to sign with", {
      advice: `Give --key-file; \`tradewire keys new FILE\` makes one. Or set ${SEED_VARIABLE} to a seed of 64 hex digits.`,
    });
  }
  const signer = signerFromEnvironment(SEED_VARIABLE, environment);
  delete environment[SEED_VARIABLE];
  return signer;
}
