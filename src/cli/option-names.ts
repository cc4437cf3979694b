import type { Command } from "commander";
import type { OptionNames } from "../base/errors/error-text.js";
import { tableNames } from "../data/schema/table-names.js";

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

/** Returns how errors name the options of a command: by its flags. */
export function flagNames(command: Command | undefined): OptionNames {
  const flags = new Map(command?.options.map((option) => [option.attributeName(), option.long ?? ""]));
  const has = [...flags.values()];
  for (const [name, candidates] of Object.entries(NAMES)) {
    const found = candidates.find((flag) => has.includes(flag));
    if (found !== undefined) {
      flags.set(name, found);
    }
  }
  if (flags.has("genesis")) {
    for (const table of tableNames) {
      flags.set(`genesis.${table}`, `--genesis ${table}`);
    }
  }
  return (option, words = option) => {
    const [name = ""] = option.split("[", 1); // `statuses[0]` is a value of `--status`.
    const flag = flags.get(name);
    return flag === undefined ? words : `${flag}${option.slice(name.length)}`;
  };
}
