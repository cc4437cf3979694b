import type { Command } from "commander";
import { FileError, RequestError, type TradewireError } from "../errors/index.js";

/** What an error tells a user. */
export interface Told {
  readonly summary: string;
  readonly advice: string;
}

/** Names of the library for what options of other names hold; of several, the one that the command has. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  pollMs: ["--poll"],
  timeoutMs: ["--wait", "--timeout"],
  partyIds: ["--party"],
  partyId: ["--party"],
  marketIds: ["--market"],
  marketId: ["--market"],
  assetId: ["--asset"],
  statuses: ["--status"],
  expiryStrategies: ["--expiry-strategy"],
  liveOnly: ["--live"],
  "dateRange.startTimestamp": ["--from"],
  "dateRange.endTimestamp": ["--to"],
  "tls.caFile": ["--ca-file"],
  "limits.maxMessageBytes": ["--max-message-bytes"],
  "limits.maxJsonBytes": ["--max-message-bytes"],
  "timeouts.connectMs": ["--connect-timeout"],
  "timeouts.callMs": ["--call-timeout"],
  "timeouts.idleMs": ["--idle-timeout"],
};

/** How an error of the configuration begins. */
const WRONG_CONFIG = "the configuration is wrong";

/** What is quoted came from the user or the node, and stays as it is. */
const QUOTED = /("(?:[^"\\]|\\.)*")/;

/**
 * Put the options of a command in place of the library's names for them, in what an error tells.
 *
 * @param error the error of the library
 * @param command the command that was run
 * @returns what it tells, with the options as one types them
 */
export function asTyped(error: TradewireError, command: Command | undefined): Told {
  const { summary, advice } = error;
  if (command === undefined) {
    return { summary, advice };
  }
  const flags = flagsOf(command);
  // What a node said may use such names too: only what was wrong with the request is of options.
  const isOfOptions = error instanceof RequestError || error instanceof FileError;
  const places = [...flags.values()].filter((flag) => flag === "--grpc-url" || flag === "--rest-url").join(" and ");
  const advised = replaced(advice, flags).replace("that the URL is right", places === "" ? "$&" : `${places}`);
  if (summary.startsWith(WRONG_CONFIG)) {
    // It names the source of each value: an option, or what has the library's names.
    return { summary: summary.replace(/(--[\w-]+): [\w.]+ (?=is )/g, "$1 "), advice: advised };
  }
  return { summary: isOfOptions ? replaced(summary, flags) : summary, advice: advised };
}

/** The flags of a command by the library's names. */
function flagsOf({ options }: Command): ReadonlyMap<string, string> {
  const longs = new Map(options.map((option) => [option.attributeName(), option.long ?? ""]));
  const has = [...longs.values()];
  for (const [name, candidates] of Object.entries(NAMES)) {
    const found = candidates.find((flag) => has.includes(flag));
    if (found !== undefined) {
      longs.set(name, found);
    }
  }
  return longs;
}

function replaced(text: string, flags: ReadonlyMap<string, string>): string {
  return text
    .split(QUOTED)
    .map((part, index) => (index % 2 === 1 ? part : names(part, flags, index === 0)))
    .join("");
}

/** A name of several words is an option wherever it stands; one that is a word of English, only where it is used so. */
function names(text: string, flags: ReadonlyMap<string, string>, isFirst: boolean): string {
  const flag = (name: string) => flags.get(name) ?? name;
  const several = text
    .replace(/(?<![\w.-])(?:tls|timeouts|limits|dateRange)\.\w+|(?<![\w.-])[a-z]+(?:[A-Z][a-z]*)+(?![\w(])/g, flag)
    .replace(/(--[\w-]+) \(\1\)/g, "$1")
    .replace(/\((force)\)/g, (_, name: string) => `(${flag(name)})`)
    .replace(/\b(snap)(?= takes )/g, flag)
    .replace(/^genesis\.(?=\w+, row )/, (start) => (flags.has("genesis") ? "--genesis " : start));
  return isFirst ? several.replace(/^([a-z]+)(?= (?:is|and) )/, flag) : several;
}
