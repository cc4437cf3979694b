import type { Command } from "commander";
import { type ArgumentDeclaration, type FindValues, SHELLS } from "./declarations.js";
import type { CommandContext } from "./output.js";

/** A command, as the help lists it. */
export interface ListedCommand {
  /** The heading that it is listed under. */
  readonly group: string;
  readonly description: string;
  /** Whether the short help lists it; otherwise only `help --all` does. */
  readonly isEveryday?: boolean;
  readonly arguments?: readonly ArgumentDeclaration[];
  /** Whether the list writes `[options]` after its name; true by default. */
  readonly listsOptions?: boolean;
  /** What helps a command that took longer than its `--timeout`, other than a longer one; by default, to check what it calls. */
  readonly shorter?: string;
  /** Loads the function that adds the command's options and action. */
  readonly load: () => Promise<(command: Command, context: CommandContext) => void>;
}

/** The headings of the list of commands. */
export const GROUPS = {
  history: "Network history",
  archives: "Archives and tables",
  records: "Markets, orders, accounts, ledger and events",
  transactions: "Transactions",
  methods: "Node methods",
  node: "Local node",
  setup: "Setup",
} as const;

const completeMethods: FindValues = async () => (await import("./api/describe.js")).completeMethods();
const completeCodes: FindValues = async () => ({
  values: Object.keys((await import("../base/errors/error-codes.js")).ERROR_CODES),
});
const completeNames: FindValues = async () => (await import("./api/describe.js")).completeNames();

/**
 * The commands by name, in the order of the help. The list of commands needs none of their modules, and a command needs
 * only its own.
 */
export const COMMANDS: ReadonlyMap<string, ListedCommand> = new Map(
  Object.entries<ListedCommand>({
    export: {
      group: GROUPS.history,
      isEveryday: true,
      description: "Export one table of network history between two blocks as a ZIP archive of CSV files.",
      load: async () => (await import("./commands/export-command.js")).addExport,
    },
    segments: {
      group: GROUPS.history,
      description: "List the node's segments of network history, with contiguous spans, gaps and schema versions.",
      load: async () => (await import("./commands/segments-command.js")).addSegments,
    },
    follow: {
      group: GROUPS.history,
      description: "Print the rows of a table of network history, then follow new segments. Each row is printed once.",
      load: async () => (await import("./commands/follow-command.js")).addFollow,
    },
    sync: {
      group: GROUPS.history,
      isEveryday: true,
      description: "Load network history into tables, each row exactly once, and keep them up to date.",
      load: async () => (await import("./commands/sync-command.js")).addSync,
    },
    query: {
      group: GROUPS.history,
      isEveryday: true,
      description: "Answer SQL from a node's history, a synced database or archives. Without SQL, ask for it.",
      arguments: [
        {
          name: "[sql]",
          description: "a SELECT statement; by default that of standard input or, on a terminal, of a prompt",
        },
      ],
      shorter: "read less: fewer blocks, rows or columns",
      load: async () => (await import("./commands/query-command.js")).addQuery,
    },
    schema: {
      group: GROUPS.archives,
      description: "Print the columns of the network's tables, or the SQL that creates them.",
      load: async () => (await import("./commands/schema-command.js")).addSchema,
    },
    rows: {
      group: GROUPS.archives,
      description: "Print the rows of an archive in order. Keeps NULL distinct from the empty string.",
      arguments: [{ name: "<file>", description: "the archive, or - for standard input" }],
      load: async () => (await import("./commands/rows-command.js")).addRows,
    },
    inspect: {
      group: GROUPS.archives,
      description: "Verify an archive, and show its files, schema versions, columns, row counts, NULLs and sizes.",
      arguments: [{ name: "<file>", description: "the archive, or - for standard input" }],
      load: async () => (await import("./commands/inspect-command.js")).addInspect,
    },
    merge: {
      group: GROUPS.archives,
      description: "Merge archives of one chain and table with adjacent ranges into one archive.",
      arguments: [{ name: "<files...>", description: "the archives, in any order" }],
      load: async () => (await import("./commands/merge-command.js")).addMerge,
    },
    assemble: {
      group: GROUPS.archives,
      description: "Build an archive from a captured export: chunk envelopes, or the objects that grpcurl prints.",
      arguments: [{ name: "<file>", description: "the capture, a sequence of JSON objects, or - for standard input" }],
      load: async () => (await import("./commands/assemble-command.js")).addAssemble,
    },
    markets: {
      group: GROUPS.records,
      isEveryday: true,
      description: "List markets with their state and prices.",
      arguments: [{ name: "[market...]", description: "only these markets: their codes, IDs, or starts of IDs" }],
      load: async () => (await import("./commands/records-commands.js")).addMarkets,
    },
    orders: {
      group: GROUPS.records,
      isEveryday: true,
      description: "List orders, newest first, in the decimals of their markets.",
      arguments: [{ name: "[id...]", description: "only these orders: their IDs, or starts of them" }],
      load: async () => (await import("./commands/records-commands.js")).addOrders,
    },
    trades: {
      group: GROUPS.records,
      isEveryday: true,
      description: "List trades, newest first, in the decimals of their markets.",
      arguments: [{ name: "[id...]", description: "only these trades: their IDs, or starts of them" }],
      load: async () => (await import("./commands/records-commands.js")).addTrades,
    },
    positions: {
      group: GROUPS.records,
      isEveryday: true,
      description: "List positions with profit and loss, in the decimals of their markets.",
      load: async () => (await import("./commands/records-commands.js")).addPositions,
    },
    accounts: {
      group: GROUPS.records,
      isEveryday: true,
      description: "List account balances, in the decimals of their assets.",
      load: async () => (await import("./commands/records-commands.js")).addAccounts,
    },
    params: {
      group: GROUPS.records,
      description: "List the network's parameters.",
      arguments: [
        {
          name: "[key...]",
          description: "keys of parameters, or patterns: * matches any text, ? matches any character",
        },
      ],
      load: async () => (await import("./commands/params-command.js")).addParams,
    },
    "stop-orders": {
      group: GROUPS.records,
      description: "List stop orders, newest first, with the orders that they submit when triggered.",
      arguments: [{ name: "[id...]", description: "only these stop orders: their IDs, or starts of them" }],
      load: async () => (await import("./commands/records-commands.js")).addStopOrders,
    },
    ledger: {
      group: GROUPS.records,
      description: "Export a party's ledger entries as CSV, in the network's integers.",
      load: async () => (await import("./commands/ledger-command.js")).addLedger,
    },
    events: {
      group: GROUPS.records,
      isEveryday: true,
      description: "Print events as they happen, until Ctrl-C. Reconnects automatically and reports possible gaps.",
      load: async () => (await import("./commands/events-command.js")).addEvents,
    },
    keys: {
      group: GROUPS.transactions,
      description: "Create and show keys that sign transactions.",
      listsOptions: false,
      load: async () => (await import("./commands/keys-command.js")).addKeys,
    },
    sign: {
      group: GROUPS.transactions,
      description: "Sign a command, tied to the node's last block, and print the request body without sending it.",
      arguments: [{ name: "<file>", description: "the command in Protobuf JSON, or - for standard input" }],
      load: async () => (await import("./commands/submit-command.js")).addSign,
    },
    submit: {
      group: GROUPS.transactions,
      isEveryday: true,
      description: "Sign a command and submit it once, or submit the output of `sign`.",
      arguments: [
        {
          name: "<file>",
          description:
            'the command in Protobuf JSON, such as {"orderSubmission": {...}}, or - for standard input; with "market": "M0" its numbers are decimals, with "marketId" the network\'s integers',
        },
      ],
      load: async () => (await import("./commands/submit-command.js")).addSubmit,
    },
    signer: {
      group: GROUPS.transactions,
      description: "Sign for other programs according to a policy, over a Unix socket, until interrupted.",
      load: async () => (await import("./commands/signer-command.js")).addSigner,
    },
    outcome: {
      group: GROUPS.transactions,
      description: "Wait for the result of a submitted transaction: exit code 0 if executed, 1 if not, 3 if unknown.",
      arguments: [{ name: "[hash]", description: "the transaction hash that `submit` prints: 64 hex digits" }],
      load: async () => (await import("./commands/outcome-command.js")).addOutcome,
    },
    verify: {
      group: GROUPS.transactions,
      description: "Check a signed request: signature, prefix, proof of work, command. Nothing is submitted.",
      arguments: [{ name: "<file>", description: "the output of `sign`, or - for standard input" }],
      load: async () => (await import("./commands/verify-command.js")).addVerify,
    },
    call: {
      group: GROUPS.methods,
      description:
        "Call a method and print its response as JSON. Messages of a stream are printed as they arrive, one per line.",
      arguments: [
        {
          name: "<method>",
          description: "the full name or its end, such as ListStopOrders or CoreService/GetVegaTime",
          completions: completeMethods,
        },
        {
          name: "[request]",
          description:
            "the request in Protobuf JSON, @FILE for a file, or - for standard input (default: an empty request)",
        },
      ],
      load: async () => (await import("./commands/call-command.js")).addCall,
    },
    methods: {
      group: GROUPS.methods,
      description: "List the node's methods with their kind and HTTP rule, one per line.",
      arguments: [
        {
          name: "[pattern]",
          description: "part of the name or path, or a pattern with * and ? for the whole; case is ignored",
        },
      ],
      load: async () => (await import("./commands/methods-command.js")).addMethods,
    },
    describe: {
      group: GROUPS.methods,
      description: "Show a method with its fields, a service, a message or an enum.",
      arguments: [
        {
          name: "<name>",
          description: "the full name or its end, such as ListMarkets or Order.Status",
          completions: completeNames,
        },
      ],
      load: async () => (await import("./commands/methods-command.js")).addDescribe,
    },
    devnode: {
      group: GROUPS.node,
      isEveryday: true,
      description: "Run a local node with a generated history until interrupted.",
      load: async () => (await import("./commands/devnode-command.js")).addDevnode,
    },
    demo: {
      group: GROUPS.node,
      description: "Start a local node, export a range over gRPC and over REST, and compare the archives.",
      load: async () => (await import("./commands/demo-command.js")).addDemo,
    },
    completion: {
      group: GROUPS.setup,
      description: "Print a shell completion script for bash, zsh or fish.",
      arguments: [{ name: "<shell>", description: "the shell", choices: SHELLS }],
      listsOptions: false,
      load: async () => (await import("./commands/completion-command.js")).addCompletion,
    },
    status: {
      group: GROUPS.setup,
      isEveryday: true,
      description: "Show the chain, height, lag, latency and version of each node, and whether it is used.",
      load: async () => (await import("./commands/status-command.js")).addStatus,
    },
    doctor: {
      group: GROUPS.setup,
      isEveryday: true,
      description: "Check the configuration, the connection, certificates, the clock and this machine.",
      load: async () => (await import("./commands/doctor-command.js")).addDoctor,
    },
    explain: {
      group: GROUPS.setup,
      description:
        "Explain the code of an error: its cause, what to do, and an example. Without a code, list all codes.",
      arguments: [
        {
          name: "[code]",
          description: "the code, such as TW_FILE_NOT_FOUND; case is ignored",
          completions: completeCodes,
        },
      ],
      load: async () => (await import("./commands/explain-command.js")).addExplain,
    },
    config: {
      group: GROUPS.setup,
      description: "Print the effective configuration and the source of each value.",
      load: async () => (await import("./commands/config-command.js")).addConfig,
    },
  }),
);
