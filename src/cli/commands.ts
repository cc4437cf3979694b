import type { Command } from "commander";
import type { CommandContext } from "./output.js";

/** A command as the help lists it. */
export interface ListedCommand {
  /** The heading that it is listed under. */
  readonly group: string;
  /** What stands behind its name. */
  readonly takes: string;
  readonly description: string;
  /** Load what gives the command its arguments, options and action. */
  readonly load: () => Promise<(command: Command, context: CommandContext) => void>;
}

/** The headings of the help. */
export const GROUPS = {
  history: "Network history",
  archives: "Archives and tables",
  records: "Parameters, stop orders, ledger and events",
  transactions: "Transactions",
  methods: "All methods of the node",
  node: "A local node",
  setup: "Setting up",
} as const;

/** The commands by their names, in the order of the help. The help needs none of their modules, and a command only its own. */
export const COMMANDS: ReadonlyMap<string, ListedCommand> = new Map(
  Object.entries<ListedCommand>({
    export: {
      group: GROUPS.history,
      takes: "[options]",
      description: "Export one table of network history between two blocks as a ZIP archive of CSV files.",
      load: async () => (await import("./commands/export.js")).addExport,
    },
    segments: {
      group: GROUPS.history,
      takes: "[options]",
      description:
        "List the segments of network history that the node holds, their contiguous spans, gaps and schema versions.",
      load: async () => (await import("./commands/segments.js")).addSegments,
    },
    follow: {
      group: GROUPS.history,
      takes: "[options]",
      description: "Print the rows of a table of network history, and go on with those of new segments, each once.",
      load: async () => (await import("./commands/follow.js")).addFollow,
    },
    sync: {
      group: GROUPS.history,
      takes: "[options]",
      description: "Bring network history into tables, each row exactly once, and keep them up to date.",
      load: async () => (await import("./commands/sync.js")).addSync,
    },
    schema: {
      group: GROUPS.archives,
      takes: "[options]",
      description: "Print the columns of the network's tables, or what makes such tables in a database.",
      load: async () => (await import("./commands/schema.js")).addSchema,
    },
    rows: {
      group: GROUPS.archives,
      takes: "[options] <file>",
      description: "Print the rows of an archive, in order; NULL is told from the empty text.",
      load: async () => (await import("./commands/rows.js")).addRows,
    },
    inspect: {
      group: GROUPS.archives,
      takes: "[options] <file>",
      description:
        "Read an archive to its end: its files, schema versions, columns, rows, NULLs, sizes, and whether it is sound.",
      load: async () => (await import("./commands/inspect.js")).addInspect,
    },
    merge: {
      group: GROUPS.archives,
      takes: "[options] <files...>",
      description: "Join archives of one chain and table whose ranges follow one another into one of the same form.",
      load: async () => (await import("./commands/merge.js")).addMerge,
    },
    assemble: {
      group: GROUPS.archives,
      takes: "[options] <file>",
      description: "Make the archive out of a captured export: chunk envelopes, or the objects that grpcurl prints.",
      load: async () => (await import("./commands/assemble.js")).addAssemble,
    },
    params: {
      group: GROUPS.records,
      takes: "[options] [key]",
      description: "List the network's parameters.",
      load: async () => (await import("./commands/params.js")).addParams,
    },
    "stop-orders": {
      group: GROUPS.records,
      takes: "[options]",
      description:
        "List stop orders, the newest first. Filters of different kinds are joined by and, those of one kind by or.",
      load: async () => (await import("./commands/stop-orders.js")).addStopOrders,
    },
    "stop-order": {
      group: GROUPS.records,
      takes: "[options] <id>",
      description: "Show one stop order, and the order that it holds back.",
      load: async () => (await import("./commands/stop-order.js")).addStopOrder,
    },
    ledger: {
      group: GROUPS.records,
      takes: "[options]",
      description: "Export the entries of a party's ledger as CSV.",
      load: async () => (await import("./commands/ledger.js")).addLedger,
    },
    events: {
      group: GROUPS.records,
      takes: "[options]",
      description:
        "Print events as they happen, until Ctrl-C. A lost connection is made again, and what may be missing told.",
      load: async () => (await import("./commands/events.js")).addEvents,
    },
    keys: {
      group: GROUPS.transactions,
      takes: "",
      description: "Make and show keys to sign transactions with.",
      load: async () => (await import("./commands/keys.js")).addKeys,
    },
    sign: {
      group: GROUPS.transactions,
      takes: "[options] <file>",
      description: "Sign a command, tied to the node's last block, and print the request's body without sending it.",
      load: async () => (await import("./commands/submit.js")).addSign,
    },
    submit: {
      group: GROUPS.transactions,
      takes: "[options] <file>",
      description: "Sign a command and submit it, once; or submit what `sign` printed.",
      load: async () => (await import("./commands/submit.js")).addSubmit,
    },
    outcome: {
      group: GROUPS.transactions,
      takes: "[options] [hash]",
      description:
        "Wait for what becomes of a transaction that was sent: exit code 0 if executed, 1 if not, 3 if unknown.",
      load: async () => (await import("./commands/outcome.js")).addOutcome,
    },
    verify: {
      group: GROUPS.transactions,
      takes: "[options] <file>",
      description: "Check a signed request: signature, prefix, proof of work, command. Nothing is submitted.",
      load: async () => (await import("./commands/verify.js")).addVerify,
    },
    call: {
      group: GROUPS.methods,
      takes: "[options] <method> [request]",
      description: "Call a method and print its answer as JSON; a stream as one object a line, as it comes.",
      load: async () => (await import("./commands/call.js")).addCall,
    },
    methods: {
      group: GROUPS.methods,
      takes: "[options] [pattern]",
      description: "List the methods of the node, with their kind and their HTTP rule, one a line.",
      load: async () => (await import("./commands/methods.js")).addMethods,
    },
    describe: {
      group: GROUPS.methods,
      takes: "[options] <name>",
      description: "Show a method with its fields, a service, a message or an enum.",
      load: async () => (await import("./commands/methods.js")).addDescribe,
    },
    devnode: {
      group: GROUPS.node,
      takes: "[options]",
      description: "Run a local node with a made-up history until it is interrupted.",
      load: async () => (await import("./commands/devnode.js")).addDevnode,
    },
    demo: {
      group: GROUPS.node,
      takes: "[options]",
      description: "Start a local node, export one range over gRPC and over REST, and compare the archives.",
      load: async () => (await import("./commands/demo.js")).addDemo,
    },
    completion: {
      group: GROUPS.setup,
      takes: "<shell>",
      description: "Print what makes the shell complete commands, options and their values: bash, zsh or fish.",
      load: async () => (await import("./commands/completion.js")).addCompletion,
    },
    config: {
      group: GROUPS.setup,
      takes: "[options]",
      description: "Print the configuration that applies, and where each value comes from.",
      load: async () => (await import("./commands/config.js")).addConfig,
    },
  }),
);
