#!/usr/bin/env node
import { createRequire } from "node:module";
import { Command, CommanderError } from "commander";
import { fileError } from "../errors/file-error.js";
import { OutcomeUnknownError, RequestError } from "../errors/index.js";
import { addAssemble } from "./commands/assemble.js";
import { addCall } from "./commands/call.js";
import { addConfig } from "./commands/config.js";
import { addDemo } from "./commands/demo.js";
import { addDevnode } from "./commands/devnode.js";
import { addExport } from "./commands/export.js";
import { addInspect } from "./commands/inspect.js";
import { addKeys } from "./commands/keys.js";
import { addLedger } from "./commands/ledger.js";
import { addMerge } from "./commands/merge.js";
import { addDescribe, addMethods } from "./commands/methods.js";
import { addParams } from "./commands/params.js";
import { addRows } from "./commands/rows.js";
import { addSchema } from "./commands/schema.js";
import { addSegments } from "./commands/segments.js";
import { addStopOrder } from "./commands/stop-order.js";
import { addStopOrders } from "./commands/stop-orders.js";
import { addSign, addSubmit } from "./commands/submit.js";
import { addSync } from "./commands/sync.js";
import { addVerify } from "./commands/verify.js";
import { type CommandContext, errorJson, errorText, Interruption, Reported } from "./output.js";

const EXIT = { ok: 0, failure: 1, usage: 2, interrupted: 130 } as const;

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
  for (const add of [
    addExport,
    addSegments,
    addSchema,
    addLedger,
    addRows,
    addInspect,
    addAssemble,
    addMerge,
    addParams,
    addStopOrders,
    addStopOrder,
    addCall,
    addMethods,
    addDescribe,
    addKeys,
    addSubmit,
    addSign,
    addVerify,
    addSync,
    addConfig,
    addDevnode,
    addDemo,
  ]) {
    add(program, context);
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
      return EXIT.failure;
    }
    if (args.includes("--json")) {
      context.out.write(errorJson(reason));
    } else {
      context.err.write(errorText(reason));
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
  process.exit(interrupt.signal.aborted ? EXIT.interrupted : EXIT.ok);
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
