import type { Command } from "commander";
import type { ArgumentDeclaration, FindValues } from "./declarations.js";
import type { CommandContext } from "./output.js";
import { SHELLS } from "./shells.js";

/** A command, as far as the help lists it. */
export interface ListedCommand {
  /** The heading that it is listed under. */
  readonly group: string;
  readonly description: string;
  readonly arguments?: readonly ArgumentDeclaration[];
  /** Whether the list writes `[options]` behind its name; by default, it does. */
  readonly listsOptions?: boolean;
  /** Loads the function that adds the command's options and action. */
  readonly load: () => Promise<(command: Command, context: CommandContext) => void>;
}

/** The headings of the list of commands. */
export const GROUPS = {
  history: "Network history",
  archives: "Archives and tables",
  records: "Parameters, stop orders, ledger and events",
  transactions: "Transactions",
  methods: "All methods of the node",
  node: "A local node",
  setup: "Setting up",
} as const;

const completeMethods: FindValues = async () => (await import("./api/describe.js")).completeMethods();
const completeNames: FindValues = async () => (await import("./api/describe.js")).completeNames();

/**
 * The commands by name, in the order of the help. The list of commands needs none of their modules, and a command needs
 * only its own.
 */
export const COMMANDS: ReadonlyMap<string, ListedCommand> = new Map(
  Object.entries<ListedCommand>({
    export: {
      group: GROUPS.history,
      description: "Export one table of network history between two blocks as a ZIP archive of CSV files.",
      load: async () => (await import("./commands/export-command.js")).addExport,
    },
    segments: {
      group: GROUPS.history,
      description:
        "List the segments of network history that the node holds, their contiguous spans, gaps and schema versions.",
      load: async () => (await import("./commands/segments-command.js")).addSegments,
    },
    follow: {
      group: GROUPS.history,
      description: "Print the rows of a table of network history, and go on with those of new segments, each once.",
      load: async () => (await import("./commands/follow-command.js")).addFollow,
    },
    sync: {
      group: GROUPS.history,
      description: "Bring network history into tables, each row exactly once, and keep them up to date.",
      load: async () => (await import("./commands/sync-command.js")).addSync,
    },
    schema: {
      group: GROUPS.archives,
      description: "Print the columns of the network's tables, or what makes such tables in a database.",
      load: async () => (await import("./commands/schema-command.js")).addSchema,
    },
    rows: {
      group: GROUPS.archives,
      description: "Print the rows of an archive, in order; NULL is told from the empty text.",
      arguments: [{ name: "<file>", description: "the archive, or - for standard input" }],
      load: async () => (await import("./commands/rows-command.js")).addRows,
    },
    inspect: {
      group: GROUPS.archives,
      description:
        "Read an archive to its end: its files, schema versions, columns, rows, NULLs, sizes, and whether it is sound.",
      arguments: [{ name: "<file>", description: "the archive, or - for standard input" }],
      load: async () => (await import("./commands/inspect-command.js")).addInspect,
    },
    merge: {
      group: GROUPS.archives,
      description: "Join archives of one chain and table whose ranges follow one another into one of the same form.",
      arguments: [{ name: "<files...>", description: "the archives, in any order" }],
      load: async () => (await import("./commands/merge-command.js")).addMerge,
    },
    assemble: {
      group: GROUPS.archives,
      description: "Make the archive out of a captured export: chunk envelopes, or the objects that grpcurl prints.",
      arguments: [
        { name: "<file>", description: "the capture, JSON objects one after another, or - for standard input" },
      ],
      load: async () => (await import("./commands/assemble-command.js")).addAssemble,
    },
    params: {
      group: GROUPS.records,
      description: "List the network's parameters.",
      arguments: [
        {
          name: "[key]",
          description: "key of one parameter, or a pattern where * stands for any text and ? for any character",
        },
      ],
      load: async () => (await import("./commands/params-command.js")).addParams,
    },
    "stop-orders": {
      group: GROUPS.records,
      description:
        "List stop orders, the newest first. Filters of different kinds are joined by and, those of one kind by or.",
      load: async () => (await import("./commands/stop-orders-command.js")).addStopOrders,
    },
    "stop-order": {
      group: GROUPS.records,
      description: "Show one stop order, and the order that it holds back.",
      arguments: [{ name: "<id>", description: "identifier of the stop order" }],
      load: async () => (await import("./commands/stop-orders-command.js")).addStopOrder,
    },
    ledger: {
      group: GROUPS.records,
      description: "Export the entries of a party's ledger as CSV.",
      load: async () => (await import("./commands/ledger-command.js")).addLedger,
    },
    events: {
      group: GROUPS.records,
      description:
        "Print events as they happen, until Ctrl-C. A lost connection is made again, and what may be missing told.",
      load: async () => (await import("./commands/events-command.js")).addEvents,
    },
    keys: {
      group: GROUPS.transactions,
      description: "Make and show keys to sign transactions with.",
      listsOptions: false,
      load: async () => (await import("./commands/keys-command.js")).addKeys,
    },
    sign: {
      group: GROUPS.transactions,
      description: "Sign a command, tied to the node's last block, and print the request's body without sending it.",
      arguments: [{ name: "<file>", description: "the command in Protobuf's JSON; - for standard input" }],
      load: async () => (await import("./commands/submit-command.js")).addSign,
    },
    submit: {
      group: GROUPS.transactions,
      description: "Sign a command and submit it, once; or submit what `sign` printed.",
      arguments: [
        {
          name: "<file>",
          description: 'the command in Protobuf\'s JSON, such as {"stopOrdersSubmission": {...}}; - for standard input',
        },
      ],
      load: async () => (await import("./commands/submit-command.js")).addSubmit,
    },
    outcome: {
      group: GROUPS.transactions,
      description:
        "Wait for what becomes of a transaction that was sent: exit code 0 if executed, 1 if not, 3 if unknown.",
      arguments: [{ name: "[hash]", description: "the transaction's hash, as `submit` prints it: 64 hex digits" }],
      load: async () => (await import("./commands/outcome-command.js")).addOutcome,
    },
    verify: {
      group: GROUPS.transactions,
      description: "Check a signed request: signature, prefix, proof of work, command. Nothing is submitted.",
      arguments: [{ name: "<file>", description: "what `sign` printed; - for standard input" }],
      load: async () => (await import("./commands/verify-command.js")).addVerify,
    },
    call: {
      group: GROUPS.methods,
      description: "Call a method and print its answer as JSON; a stream as one object a line, as it comes.",
      arguments: [
        {
          name: "<method>",
          description: "the full name, or its end, such as ListStopOrders or CoreService/GetVegaTime",
          completions: completeMethods,
        },
        {
          name: "[request]",
          description: "the request in Protobuf's JSON; @FILE for a file, - for standard input; empty by default",
        },
      ],
      load: async () => (await import("./commands/call-command.js")).addCall,
    },
    methods: {
      group: GROUPS.methods,
      description: "List the methods of the node, with their kind and their HTTP rule, one a line.",
      arguments: [
        {
          name: "[pattern]",
          description: "a part of the name or path, or a pattern for all of it with * and ?, in any case",
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
          description: "the full name, or its end, such as ListMarkets or Order.Status",
          completions: completeNames,
        },
      ],
      load: async () => (await import("./commands/methods-command.js")).addDescribe,
    },
    devnode: {
      group: GROUPS.node,
      description: "Run a local node with a made-up history until it is interrupted.",
      load: async () => (await import("./commands/devnode-command.js")).addDevnode,
    },
    demo: {
      group: GROUPS.node,
      description: "Start a local node, export one range over gRPC and over REST, and compare the archives.",
      load: async () => (await import("./commands/demo-command.js")).addDemo,
    },
    completion: {
      group: GROUPS.setup,
      description: "Print what makes the shell complete commands, options and their values: bash, zsh or fish.",
      arguments: [{ name: "<shell>", description: "the shell", choices: SHELLS }],
      listsOptions: false,
      load: async () => (await import("./commands/completion-command.js")).addCompletion,
    },
    config: {
      group: GROUPS.setup,
      description: "Print the configuration that applies, and where each value comes from.",
      load: async () => (await import("./commands/config-command.js")).addConfig,
    },
  }),
);
