import { Option } from "commander";
import { SEED_VARIABLE } from "../config/environment.js";
import { RequestError } from "../errors/index.js";
import { signerFromKeyFile } from "../transaction/key-file.js";
import { type Signer, signerFromEnvironment } from "../transaction/signer.js";

/** The option that says whose transaction it is. There is none for the seed itself: others can read arguments. */
export function keyFileOption(): Option {
  return new Option(
    "--key-file <file>",
    `file with the key to sign with; else the variable ${SEED_VARIABLE} holds a seed`,
  );
}

/**
 * The signer that the command line and the environment choose. The variable is taken out of the environment, so that nothing
 * that is made of the environment later holds the seed.
 *
 * @throws {@link RequestError} where there is none
 */
export async function commandSigner({ keyFile }: { readonly keyFile?: string }): Promise<Signer> {
  if (keyFile !== undefined) {
    return signerFromKeyFile(keyFile);
  }
  if (process.env[SEED_VARIABLE] === undefined) {
    throw new RequestError("there is no key to sign with", {
      advice: `Give --key-file; \`tradewire keys new FILE\` makes one. Or set ${SEED_VARIABLE} to a seed of 64 hex digits.`,
    });
  }
  const signer = signerFromEnvironment(SEED_VARIABLE);
  delete process.env[SEED_VARIABLE];
  return signer;
}
