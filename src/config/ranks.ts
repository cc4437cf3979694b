import { RequestError } from "../errors/index.js";
import type { Config } from "./config.js";
import { CONFIG_VARIABLE } from "./environment.js";
import { CONFIG_FILE } from "./file.js";

/** What decides which server is called, and by what it is known. */
const OF_SERVER = ["url", "addresses", "allowInsecureHeaders", "tls.caFile", "tls.serverName"] as const;

/** What must go to no server that the user did not choose. */
const SECRETS = ["headers", "tls.keyFile"] as const;

/** A configuration, the sources of its values, and the keys whose values come from a file that was found. */
interface Ranked {
  readonly config: Config;
  readonly sources: ReadonlyMap<string, string>;
  readonly found: ReadonlySet<string>;
}

/**
 * Refuses to combine a secret with a server or a chain that a source of lower rank names. What the user gives ranks above
 * what is found: options, environment variables and a file that one of these names are the user's choice; a file in the
 * working directory may come from someone else, for example with a cloned repository. The defaults are fixed URLs on
 * loopback, which no source can change.
 *
 * @param ranked the configuration, the sources of its values, and the keys whose values come from a file that was found
 * @param forSigning whether the configuration is for signing with a key, which is never in the file
 * @throws {@link RequestError} naming the keys and their sources
 */
export function requireRanks({ config, sources, found }: Ranked, forSigning: boolean): void {
  for (const endpoint of ["grpc", "rest"] as const) {
    const ofServer = OF_SERVER.map((key) => `${endpoint}.${key}`).filter((name) => found.has(name));
    const secret = SECRETS.map((key) => `${endpoint}.${key}`).find((name) => sources.has(name) && !found.has(name));
    if (secret !== undefined && ofServer.length > 0) {
      throw refusal(`${secret} comes from ${sources.get(secret)}`, ofServer);
    }
  }
  if (forSigning) {
    const { transport } = config;
    const called = transport === "auto" ? ["grpc", "rest"] : [transport === "rest" ? "rest" : "grpc"];
    const deciding = ["chainId", ...called.flatMap((endpoint) => OF_SERVER.map((key) => `${endpoint}.${key}`))];
    const ofFound = deciding.filter((name) => found.has(name));
    if (ofFound.length > 0) {
      throw refusal("the signing key comes from elsewhere", ofFound);
    }
  }
}

function refusal(secret: string, names: readonly string[]): RequestError {
  const what = `${names.join(", ")} ${names.length === 1 ? "comes" : "come"}`;
  return new RequestError(
    `the configuration is wrong: ${secret}, but ${what} from ${CONFIG_FILE}, which was found, not named`,
    {
      section: "requesterror-configuration",
      advice:
        `If you trust the file, name it: --config ${CONFIG_FILE}, ${CONFIG_VARIABLE}=${CONFIG_FILE}, or \`file\` of ` +
        "loadConfig(). Otherwise set these keys by options or environment variables. Nothing was sent or signed.",
    },
  );
}
