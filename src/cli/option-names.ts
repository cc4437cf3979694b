import type { Command } from "commander";
import { FileError, RequestError, type TradewireError } from "../errors/index.js";

/** The text of an error for the user of a command. */
export interface ErrorWording {
  readonly summary: string;
  readonly advice: string;
}

/** The flags of options whose names in the library differ: the first one that the command has. */
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

/** The start of errors of the configuration. */
const WRONG_CONFIG = "the configuration is wrong";

/** Quoted text comes from the user or the node, and remains unchanged. */
const QUOTED = /("(?:[^"\\]|\\.)*")/;

/**
 * Returns the text of an error, with the flags of a command instead of the library's names of options.
 *
 * @param error the error
 * @param command the command that was run
 * @returns its summary and advice
 */
export function asTyped(error: TradewireError, command: Command | undefined): ErrorWording {
  const { summary, advice } = error;
  if (command === undefined) {
    return { summary, advice };
  }
  const flags = flagsOf(command);
  // A node's message may contain such names, too. Only errors of requests and files are about options.
  const isOfOptions = error instanceof RequestError || error instanceof FileError;
  const places = [...flags.values()].filter((flag) => flag === "--grpc-url" || flag === "--rest-url").join(" and ");
  const advised = replaced(advice, flags).replace("that the URL is right", places === "" ? "$&" : `${places}`);
  if (summary.startsWith(WRONG_CONFIG)) {
    // It has the source of each value: a flag, or a file or variable, for which the library's names remain.
    return { summary: summary.replace(/(--[\w-]+): [\w.]+ (?=is )/g, "$1 "), advice: advised };
  }
  return { summary: isOfOptions ? replaced(withFlag(error, flags), flags) : summary, advice: advised };
}

/** Returns the summary of an error with the flag of the option that it is about, with which the summary starts. */
function withFlag(error: TradewireError, flags: ReadonlyMap<string, string>): string {
  const option = error instanceof RequestError ? error.option : undefined;
  const flag = option === undefined ? undefined : flags.get(option);
  return option === undefined || flag === undefined || !error.summary.startsWith(`${option} `)
    ? error.summary
    : `${flag}${error.summary.slice(option.length)}`;
}

/** Returns the flags of a command by the library's names. */
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
    .map((part, index) => (index % 2 === 1 ? part : flagsIn(part, flags)))
    .join("");
}

/** Replaces the library's names. A name of several words is always an option; a single word only in certain phrases. */
function flagsIn(text: string, flags: ReadonlyMap<string, string>): string {
  const flag = (name: string) => flags.get(name) ?? name;
  return text
    .replace(/(?<![\w.-])(?:tls|timeouts|limits|dateRange)\.\w+|(?<![\w.-])[a-z]+(?:[A-Z][a-z]*)+(?![\w(])/g, flag)
    .replace(/(--[\w-]+) \(\1\)/g, "$1")
    .replace(/\((force)\)/g, (_, name: string) => `(${flag(name)})`)
    .replace(/\b(snap)(?= takes )/g, flag)
    .replace(/^genesis\.(?=\w+, row )/, (start) => (flags.has("genesis") ? "--genesis " : start));
}
