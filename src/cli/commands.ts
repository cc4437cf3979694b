import type { Command } from "commander";
import type { CommandContext } from "./output.js";

/** A command as the help lists it. */
export interface ListedCommand {
  /** What stands behind its name. */
  readonly takes: string;
  readonly description: string;
  /** Load what gives the command its arguments, options and action. */
  readonly load: () => Promise<(command: Command, context: CommandContext) => void>;
}

/** The commands by their names, in the order of the help. The help needs none of their modules, and a command only its own. */
export const COMMANDS: ReadonlyMap<string, ListedCommand> = new Map(
  Object.entries<ListedCommand>({
    export: {
      takes: "[options]",
      description: "Export one table of network history between two blocks as a ZIP archive of CSV files.",
      load: async () => (await import("./commands/export.js")).addExport,
    },
    segments: {
      takes: "[options]",
      description:
        "List the segments of network history that the node holds, their contiguous spans, gaps and schema versions.",
      load: async () => (await import("./commands/segments.js")).addSegments,
    },
    schema: {
      takes: "[options]",
      description: "Print the columns of the network's tables, or what makes such tables in a database.",
      load: async () => (await import("./commands/schema.js")).addSchema,
    },
    ledger: {
      takes: "[options]",
      description: "Export the entries of a party's ledger as CSV.",
      load: async () => (await import("./commands/ledger.js")).addLedger,
    },
    rows: {
      takes: "[options] <file>",
      description: "Print the rows of an archive, in order; NULL is told from the empty text.",
      load: async () => (await import("./commands/rows.js")).addRows,
    },
    follow: {
      takes: "[options]",
      description: "Print the rows of a table of network history, and go on with those of new segments, each once.",
      load: async () => (await import("./commands/follow.js")).addFollow,
    },
    inspect: {
      takes: "[options] <file>",
      description:
        "Read an archive to its end: its files, schema versions, columns, rows, NULLs, sizes, and whether it is sound.",
      load: async () => (await import("./commands/inspect.js")).addInspect,
    },
    assemble: {
      takes: "[options] <file>",
      description: "Make the archive out of a captured export: chunk envelopes, or the objects that grpcurl prints.",
      load: async () => (await import("./commands/assemble.js")).addAssemble,
    },
    merge: {
      takes: "[options] <files...>",
      description: "Join archives of one chain and table whose ranges follow one another into one of the same form.",
      load: async () => (await import("./commands/merge.js")).addMerge,
    },
    params: {
      takes: "[options] [key]",
      description: "List the network's parameters.",
      load: async () => (await import("./commands/params.js")).addParams,
    },
    "stop-orders": {
      takes: "[options]",
      description:
        "List stop orders, the newest first. Filters of different kinds are joined by and, those of one kind by or.",
      load: async () => (await import("./commands/stop-orders.js")).addStopOrders,
    },
    "stop-order": {
      takes: "[options] <id>",
      description: "Show one stop order, and the order that it holds back.",
      load: async () => (await import("./commands/stop-order.js")).addStopOrder,
    },
    events: {
      takes: "[options]",
      description:
        "Print events as they happen, until Ctrl-C. A lost connection is made again, and what may be missing told.",
      load: async () => (await import("./commands/events.js")).addEvents,
    },
    call: {
      takes: "[options] <method> [request]",
      description: "Call a method and print its answer as JSON; a stream as one object a line, as it comes.",
      load: async () => (await import("./commands/call.js")).addCall,
    },
    methods: {
      takes: "[options] [pattern]",
      description: "List the methods of the node, with their kind and their HTTP rule, one a line.",
      load: async () => (await import("./commands/methods.js")).addMethods,
    },
    describe: {
      takes: "[options] <name>",
      description: "Show a method with its fields, a service, a message or an enum.",
      load: async () => (await import("./commands/methods.js")).addDescribe,
    },
    keys: {
      takes: "",
      description: "Make and show keys to sign transactions with.",
      load: async () => (await import("./commands/keys.js")).addKeys,
    },
    submit: {
      takes: "[options] <file>",
      description: "Sign a command and submit it, once; or submit what `sign` printed.",
      load: async () => (await import("./commands/submit.js")).addSubmit,
    },
    sign: {
      takes: "[options] <file>",
      description: "Sign a command, tied to the node's last block, and print the request's body without sending it.",
      load: async () => (await import("./commands/submit.js")).addSign,
    },
    outcome: {
      takes: "[options] <hash>",
      description:
        "Wait for what becomes of a transaction that was sent: exit code 0 if executed, 1 if not, 3 if unknown.",
      load: async () => (await import("./commands/outcome.js")).addOutcome,
    },
    verify: {
      takes: "[options] <file>",
      description: "Check a signed request: signature, prefix, proof of work, command. Nothing is submitted.",
      load: async () => (await import("./commands/verify.js")).addVerify,
    },
    sync: {
      takes: "[options]",
      description: "Bring network history into tables, each row exactly once, and keep them up to date.",
      load: async () => (await import("./commands/sync.js")).addSync,
    },
    config: {
      takes: "[options]",
      description: "Print the configuration that applies, and where each value comes from.",
      load: async () => (await import("./commands/config.js")).addConfig,
    },
    devnode: {
      takes: "[options]",
      description: "Run a local node with a made-up history until it is interrupted.",
      load: async () => (await import("./commands/devnode.js")).addDevnode,
    },
    demo: {
      takes: "[options]",
      description: "Start a local node, export one range over gRPC and over REST, and compare the archives.",
      load: async () => (await import("./commands/demo.js")).addDemo,
    },
  }),
);
