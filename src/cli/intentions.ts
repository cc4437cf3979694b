const HELP = "`tradewire help` lists commands by task, and `tradewire help --all` lists all of them.";
const STATUS = "`tradewire status` shows the node's chain, height and version.";
const SUBMIT = "`tradewire submit` signs and submits a command, such as an order.";
const KEYS = "`tradewire keys new` creates a key, and `submit --key-file` signs with it.";
const NODE = "`tradewire devnode` starts a local node.";
const CONFIG = "`tradewire config` shows the configuration; docs/configuration.md says how to change it.";
const INSTALL = "Install the newest version: `npm install --global tradewire@latest`.";
const CALL = "`tradewire call METHOD` calls any method of the node, and `tradewire methods` lists them.";
const SQL = "`tradewire sync --to duckdb:history.duckdb` loads history into tables that you can query with SQL.";
const LOGIN =
  "There is no login. Tokens go into `headers` of a configuration file or into TRADEWIRE_GRPC_HEADERS; `tradewire keys new` creates a key to sign with.";

/** Advice for names that commands of other programs have. */
const OTHER_COMMANDS: Readonly<Record<string, string>> = {
  list: HELP,
  ls: HELP,
  commands: HELP,
  man: HELP,
  docs: HELP,
  get: CALL,
  show: CALL,
  query: CALL,
  assets: "`tradewire call ListAssets` lists assets.",
  parties: "`tradewire call ListParties` lists parties.",
  candles: "`tradewire call ListCandleData` lists candles.",
  proposals: "`tradewire call ListGovernanceData` lists proposals.",
  version: "`tradewire --version` prints the version.",
  upgrade: INSTALL,
  update: INSTALL,
  login: LOGIN,
  logout: LOGIN,
  auth: LOGIN,
  init: CONFIG,
  configure: CONFIG,
  settings: CONFIG,
  set: CONFIG,
  use: "Choose a network with `--use NAME`, or set `use` in your configuration file; see docs/configuration.md.",
  check: "`tradewire doctor` checks the node, the connection and the configuration.",
  diagnose: "`tradewire doctor` checks the node, the connection and the configuration.",
  ping: STATUS,
  top: STATUS,
  health: STATUS,
  info: STATUS,
  height: STATUS,
  start: NODE,
  run: NODE,
  serve: NODE,
  node: NODE,
  download: "`tradewire export` downloads network history.",
  dump: "`tradewire export` downloads network history.",
  import: "`tradewire sync` loads network history into tables.",
  load: "`tradewire sync` loads network history into tables.",
  balances: "`tradewire accounts` lists balances.",
  fills: "`tradewire trades` lists trades.",
  watch: "`tradewire events` prints events as they happen, and `tradewire follow` prints rows of history.",
  tail: "`tradewire events` prints events as they happen, and `tradewire follow` prints rows of history.",
  logs: "`tradewire events` prints events as they happen, and `tradewire follow` prints rows of history.",
  stream: "`tradewire events` prints events as they happen, and `tradewire follow` prints rows of history.",
  subscribe: "`tradewire events` prints events as they happen, and `tradewire follow` prints rows of history.",
  buy: SUBMIT,
  sell: SUBMIT,
  place: SUBMIT,
  apply: SUBMIT,
  create: SUBMIT,
  delete: SUBMIT,
  cancel: SUBMIT,
  send: SUBMIT,
  wallet: KEYS,
  whoami: KEYS,
  psql: SQL,
  sql: SQL,
  select: SQL,
  tx: "`tradewire outcome HASH` finds the outcome of a transaction.",
  transaction: "`tradewire outcome HASH` finds the outcome of a transaction.",
};

/** The words for listing that other programs have, for commands that list without one. */
export const LISTING_WORDS: ReadonlySet<string> = new Set(["ls", "list", "get", "show", "all"]);

const TOKENS =
  "Tokens go into `headers` of a configuration file, or into TRADEWIRE_GRPC_HEADERS or TRADEWIRE_REST_HEADERS: other users can read arguments.";

/** The options that people look for under other names. A command has some of them; the first one that it has is meant. */
const OTHER_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "-v": ["--verbose"],
  "--debug": ["--verbose"],
  "--silent": ["--quiet"],
  "--format": ["--output"],
  "--output": ["--out", "--json"],
  "--pretty": ["--output"],
  "--csv": ["--output"],
  "--jsonl": ["--output", "--json"],
  "--host": ["--grpc-url"],
  "--node": ["--grpc-url"],
  "--server": ["--grpc-url"],
  "--endpoint": ["--grpc-url"],
  "--address": ["--grpc-url"],
  "--network": ["--use"],
  "--env": ["--use"],
  "--context": ["--use"],
  "--timeout": ["--call-timeout"],
  "--insecure": ["--ca-file"],
  "--count": ["--limit"],
  "--max": ["--limit"],
  "--first": ["--limit"],
  "-n": ["--limit"],
  "-L": ["--limit"],
  "-w": ["--watch"],
  "--follow": ["--watch"],
  "--last": ["--limit"],
  "--since": ["--from", "--from-block"],
  "--start": ["--from", "--from-block"],
  "--until": ["--to", "--to-block"],
  "--end": ["--to", "--to-block"],
  "--key": ["--key-file"],
  "--private-key": ["--key-file"],
  "--pubkey": ["--party"],
};

/**
 * Returns how to do what an unknown command's name suggests.
 *
 * @param name the name of a command that does not exist
 * @returns the advice; undefined if the name is not recognized
 */
export function adviceOnCommand(name: string): string | undefined {
  return Object.hasOwn(OTHER_COMMANDS, name) ? OTHER_COMMANDS[name] : undefined;
}

/**
 * Returns the option that an unknown option's name most likely means.
 *
 * @param name the name of an option that the command does not have
 * @param flags the options of the command
 * @returns the command's option; undefined if the name is not recognized
 */
export function intendedOption(name: string, flags: readonly string[]): string | undefined {
  const meant = Object.hasOwn(OTHER_OPTIONS, name) ? OTHER_OPTIONS[name] : undefined;
  return meant?.find((flag) => flags.includes(flag));
}

/**
 * Returns how to pass secrets, if an unknown option looks like one for a secret; no option accepts secrets.
 *
 * @param name the name of an option that the command does not have
 * @returns the advice; undefined for other options
 */
export function adviceOnSecret(name: string): string | undefined {
  return /^--(access-|auth-|bearer-)?(token|headers?|api-?key|password|auth)$/.test(name) ? TOKENS : undefined;
}
