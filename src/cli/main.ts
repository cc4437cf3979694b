#!/usr/bin/env node
import { createRequire } from "node:module";
import { Command, CommanderError } from "commander";
import { fileError } from "../errors/file-error.js";
import { OutcomeUnknownError, RequestError } from "../errors/index.js";
import { type CommandContext, EXIT, errorJson, errorText, Interruption, Reported } from "./output.js";

/** What needs no command. */
const VERSION: ReadonlySet<string> = new Set(["-V", "--version"]);

/** Adds a command. */
type AddCommand = (program: Command, context: CommandContext) => void;

/** The commands, in the order of the help. One is loaded when it is run: a command starts with no more than it needs. */
const COMMANDS: ReadonlyMap<string, () => Promise<AddCommand>> = new Map([
  ["export", async () => (await import("./commands/export.js")).addExport],
  ["segments", async () => (await import("./commands/segments.js")).addSegments],
  ["schema", async () => (await import("./commands/schema.js")).addSchema],
  ["ledger", async () => (await import("./commands/ledger.js")).addLedger],
  ["rows", async () => (await import("./commands/rows.js")).addRows],
  ["follow", async () => (await import("./commands/follow.js")).addFollow],
  ["inspect", async () => (await import("./commands/inspect.js")).addInspect],
  ["assemble", async () => (await import("./commands/assemble.js")).addAssemble],
  ["merge", async () => (await import("./commands/merge.js")).addMerge],
  ["params", async () => (await import("./commands/params.js")).addParams],
  ["stop-orders", async () => (await import("./commands/stop-orders.js")).addStopOrders],
  ["stop-order", async () => (await import("./commands/stop-order.js")).addStopOrder],
  ["events", async () => (await import("./commands/events.js")).addEvents],
  ["call", async () => (await import("./commands/call.js")).addCall],
  ["methods", async () => (await import("./commands/methods.js")).addMethods],
  ["describe", async () => (await import("./commands/methods.js")).addDescribe],
  ["keys", async () => (await import("./commands/keys.js")).addKeys],
  ["submit", async () => (await import("./commands/submit.js")).addSubmit],
  ["sign", async () => (await import("./commands/submit.js")).addSign],
  ["outcome", async () => (await import("./commands/outcome.js")).addOutcome],
  ["verify", async () => (await import("./commands/verify.js")).addVerify],
  ["sync", async () => (await import("./commands/sync.js")).addSync],
  ["config", async () => (await import("./commands/config.js")).addConfig],
  ["devnode", async () => (await import("./commands/devnode.js")).addDevnode],
  ["demo", async () => (await import("./commands/demo.js")).addDemo],
]);

/** Run the command `tradewire`, and return its exit code. */
async function main(args: readonly string[], context: CommandContext): Promise<number> {
  const program = new Command("tradewire")
    .description("Network history as archives of CSV, network parameters and stop orders, over gRPC or over REST.")
    .version(createRequire(import.meta.url)("tradewire/package.json").version)
    .exitOverride()
    // A command's own options are its alone, also where the command above has one of that name.
    .enablePositionalOptions()
    .configureOutput({ writeOut: (text) => context.out.write(text), writeErr: (text) => context.err.write(text) })
    .showHelpAfterError("Try --help.");
  const [name = ""] = args;
  const asked = COMMANDS.get(name);
  for (const load of asked ? [asked] : VERSION.has(name) ? [] : COMMANDS.values()) {
    (await load())(program, context);
  }
  try {
    await program.parseAsync(args, { from: "user" });
    return EXIT.ok;
  } catch (reason) {
    if (reason instanceof CommanderError) {
      return reason.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    // An interruption must not hide that a transaction may have arrived.
    if (context.signal.aborted && !(reason instanceof OutcomeUnknownError)) {
      return EXIT.interrupted;
    }
    if (reason instanceof Reported) {
      return reason.exitCode;
    }
    if (args.includes("--json")) {
      context.out.write(errorJson(reason));
    } else {
      context.err.write(errorText(reason));
    }
    if (reason instanceof OutcomeUnknownError) {
      return EXIT.unknown;
    }
    return reason instanceof RequestError ? EXIT.usage : EXIT.failure;
  }
}

const interrupt = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => interrupt.abort(new Interruption(signal)));
}
// The reader of a pipe, such as `head`, may close it early. The command then ends successfully.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (!interrupt.signal.aborted && error.code !== "EPIPE") {
    process.stderr.write(`tradewire: ${fileError(error, "standard output").summary}\n`);
    process.exit(EXIT.failure);
  }
  process.exit(interrupt.signal.aborted ? EXIT.interrupted : (process.exitCode ?? EXIT.ok));
});
process.exitCode = await main(process.argv.slice(2), {
  // The getter leaves standard input untouched until a command reads it: a terminal would keep the process alive.
  get in() {
    return process.stdin;
  },
  out: process.stdout,
  err: process.stderr,
  signal: interrupt.signal,
});
if (interrupt.signal.aborted) {
  // A reader that has stopped reading would keep what is left of the output, and with it the process.
  process.exit();
}
