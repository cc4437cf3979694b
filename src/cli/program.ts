import { Command, CommanderError, Help } from "commander";
import { fileError } from "../errors/file-error.js";
import { OutcomeUnknownError, RequestError } from "../errors/index.js";
import { COMMANDS } from "./commands.js";
import { type CommandContext, EXIT, errorJson, errorText, Interruption, Reported } from "./output.js";

/** Give the command what it is told to do, and return its exit code. */
async function main(args: readonly string[], version: string, context: CommandContext): Promise<number> {
  const program = new Command("tradewire")
    .description("Network history as archives of CSV, network parameters and stop orders, over gRPC or over REST.")
    .version(version)
    .exitOverride()
    // A command's own options are its alone, also where the command above has one of that name.
    .enablePositionalOptions()
    .configureOutput({ writeOut: (text) => context.out.write(text), writeErr: (text) => context.err.write(text) })
    .showHelpAfterError("Try --help.");
  for (const [name, { description, load }] of COMMANDS) {
    const command = program.command(name).description(description);
    if (args.includes(name)) {
      (await load())(command, context);
    }
  }
  program.configureHelp({ subcommandTerm: term }); // Set last: the commands below have their own.
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

/** What stands behind a command's name in the list of commands. */
function term(command: Command): string {
  const listed = COMMANDS.get(command.name());
  return listed ? `${command.name()} ${listed.takes}`.trimEnd() : new Help().subcommandTerm(command);
}

/**
 * Run the command `tradewire` in this process: its streams, signals and exit code are those of the command.
 *
 * @param args the arguments behind the command's own name
 * @param version what `--version` prints
 */
export async function run(args: readonly string[], version: string): Promise<void> {
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
  process.exitCode = await main(args, version, {
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
}
