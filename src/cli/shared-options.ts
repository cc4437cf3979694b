import { profiles } from "../base/profile.js";
import { readTable, tableNames } from "../data/schema/table-names.js";
import { choice, flag, list, type OptionSettings, parsed, required, single, text, textList } from "./declarations.js";
import {
  durationParser,
  parseBlock,
  parseBlockHeight,
  parseBlocks,
  parseCount,
  parseDuration,
  parseInteger,
  parseSince,
  parseTime,
} from "./parsers.js";
import { LISTED } from "./table.js";

const TABLE_TEXT = `table of network history: ${tableNames.join(", ")}`;
const TABLES: OptionSettings = { completions: () => ({ values: tableNames }), isFilter: true };

/** The option of commands that read one table. */
export const tableOption = required(single("<name>", TABLE_TEXT, (name) => readTable(name), TABLES));

/** The option of commands that read all tables, or some. */
export const tablesOption = list("<name>", `${TABLE_TEXT} (default: all)`, (name) => readTable(name), TABLES);

const FILTER: OptionSettings = { isFilter: true };
const MARKET_TEXT = "only this market: its code, its ID, or the start of its ID";
const PARTY_TEXT = "only this party: its ID, or the start of it";

export const marketsOption = textList("<market>", MARKET_TEXT, FILTER);
export const marketOption = single("<market>", MARKET_TEXT, (market) => market, FILTER);
export const partiesOption = textList("<party>", PARTY_TEXT, FILTER);
export const partyOption = single("<party>", PARTY_TEXT, (party) => party, FILTER);

const SINCE =
  "only from this time on; for orders and stop orders that of their last change, for rows that of their block: ISO 8601, a duration before now such as 1h, or Unix nanoseconds";

/** The options that select a time. */
export const timeOptions = {
  since: parsed("<time>", SINCE, parseTime),
  until: parsed("<time>", "only before this time", parseTime, { conflicts: ["watch", "follow"] }),
};

/** Returns the options that select blocks, with what becomes of segments that they do not fit. */
export function blockOptions(first: string, last: string) {
  return {
    fromBlock: parsed("<height>", `first block; ${first}`, parseBlockHeight),
    toBlock: parsed("<height>", `last block; ${last}`, parseBlockHeight),
  };
}

/** Returns the options that select blocks of a history with a last block, like {@link blockOptions}. */
export function partOptions(first: string, last: string) {
  return {
    fromBlock: parsed("<height>", `first block; -N is the first of the last N; ${first}`, parseBlock),
    toBlock: parsed("<height>", `last block; ${last}`, parseBlock),
    blocks: parsed("<first:last>", "both in one, such as 5k:1M, 5k: or -100k:", parseBlocks, {
      conflicts: ["fromBlock", "toBlock"],
    }),
  };
}

/** The options that select rows. */
export const rowOptions = { ...timeOptions, market: marketsOption, party: partiesOption };

/** The options that select the rows of a table that is followed. */
export const followedRowOptions = {
  since: parsed("<time>", SINCE, parseSince),
  market: marketsOption,
  party: partiesOption,
};

/** The options that select rows of an archive: there is no node to ask for the codes of markets. */
export const archiveRowOptions = {
  ...rowOptions,
  market: textList("<market>", "only this market: its ID, 64 hex digits", FILTER),
  party: textList("<party>", "only this party: its ID, 64 hex digits", FILTER),
};

/** The options that say how much is printed. */
export const amountOptions = {
  limit: parsed("<count>", "stop after this many records, rows, events or messages", parseCount, {
    short: "-n",
    conflicts: ["all"],
  }),
  all: flag(`print all, also on a terminal, where the default is ${LISTED}`),
};

/** The option of listings, which print decimal numbers. */
export const rawOption = flag(
  "print records as the network sends them: integers, Unix times, and full names of values",
);

export const columnsOption = textList("<name>", "columns to print, in this order");

/** The option of commands that show current records. */
export const watchOption = flag("redraw the table on the terminal as it changes, until Ctrl-C", {
  short: "-w",
  conflicts: ["follow"],
});

/** The option of commands that go on after the current records. */
export const followOption = flag("then go on with what is new, until Ctrl-C", { short: "-f" });

/** The option of commands that look for news again and again. */
export const intervalOption = parsed("<duration>", "time between two looks for news, such as 30s, 5m", parseDuration);

export const forceOption = flag("overwrite an existing file");

export const maxRowBytesOption = parsed("<count>", "maximum row size in bytes (default: 64 MiB)", parseInteger);

export const dryRunOption = flag("show what would be done, and do nothing");

export const estimateOption = flag(
  "print how much would be fetched, and how long it takes, from a few exports; save nothing",
);

export const liveOption = flag("only live records");

/** The option of commands that shorten identifiers. */
export const wideOption = flag("print full IDs and all columns; on a narrow terminal, each value on its own line");

/** Returns the option of commands that save a file. */
export function toOption(what: string) {
  return text("<path>", `where to save: ${what}`);
}

/** Returns the option for work that is done in parallel. */
export function parallelOption(byDefault: number) {
  return parsed("<count>", `number of fetches in parallel (default: ${byDefault})`, parseInteger);
}

/** Returns the option of commands that wait for the outcome of a transaction. Its value may be left out. */
export function waitOption(byDefault: string) {
  return parsed<number | true>(
    "[duration]",
    `wait for the outcome, at most this long ${byDefault}: exit code 0 if executed, 1 if not, 3 if unknown`,
    durationParser("Use a duration, such as --wait=30s, or put --wait after the argument."),
  );
}

const CHAIN_TEXT = "chain ID of the network";

/** The option that names the chain, for commands that sign, verify or must not reach another network. */
export const chainIdOption = text(
  "<id>",
  `${CHAIN_TEXT}; nodes on other chains are rejected. Optional for nodes on loopback`,
);

/** The option of the command that makes a chain. */
export const ownChainIdOption = text("<id>", `${CHAIN_TEXT} (default: tradewire-devnet)`);

/** The option that says where transactions contain the chain's identifier. */
export const chainIdPrefixOption = choice(
  "<rule>",
  "whether the chain ID is submitted before the input data, or only signed",
  ["signed-and-submitted", "signature-only"],
);

/** The option that says whether an export must carry extensions. */
export const extensionsOption = choice("<rule>", "whether the first chunk must have extensions", [
  "required",
  "optional",
]);

/** The option of commands that create the views of a sync, or print them. */
export const viewsOption = choice(
  "<which>",
  "create views such as trades_v and candles_1h in a database, or none (default: all)",
  ["all", "none"],
);

/** The option that says how nodes behave; a client's own default is that of its configuration. */
export const profileOption = choice(
  "<name>",
  "rules to follow where deployed nodes differ from the API documentation",
  profiles,
);
