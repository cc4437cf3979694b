import { Command, CommanderError, Help } from "commander";
import { OutcomeUnknownError, RequestError, TradewireError } from "../errors/index.js";
import { monotonicMs } from "../runtime/index.js";
import { COMMANDS, GROUPS } from "./commands.js";
import { COMPLETE } from "./completion/shells.js";
import { finish } from "./finish.js";
import { createNotes } from "./notes.js";
import { asTyped } from "./option-names.js";
import { type CommandContext, EXIT, errorJson, errorText, Interruption, interruptedCode, Reported } from "./output.js";
import { fullName } from "./usage-error.js";

export { Interruption };

/**
 * Make the command with those below it.
 *
 * @param version what `--version` prints
 * @param context the streams of the command, and the signal that interrupts it
 * @param isLoaded tells of a command's name whether its arguments, options and action are needed; the others are listed
 * @returns the command
 */
export async function createProgram(
  version: string,
  context: CommandContext,
  isLoaded: (name: string) => boolean,
): Promise<Command> {
  const program = new Command("tradewire")
    .description("Network history as archives of CSV, network parameters and stop orders, over gRPC or over REST.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .exitOverride()
    // A command's own options are its alone, also where the command above has one of that name.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => context.out.write(text),
      writeErr: (text) => context.err.write(text),
      getOutHelpWidth: () => helpWidth(context.out),
      getErrHelpWidth: () => helpWidth(context.err),
    });
  for (const [name, { description, group, load }] of COMMANDS) {
    const command = program.command(name).description(description).helpGroup(`${group}:`);
    if (isLoaded(name)) {
      (await load())(command, context);
    }
  }
  program.commandsGroup(`${GROUPS.setup}:`).helpCommand("help [command]", "Show the help of a command.");
  finish(program, context);
  program.configureHelp({ ...program.configureHelp(), subcommandTerm: term }); // Set last: the commands below have their own.
  return program;
}

/** The width of help for a stream that tells none. */
const HELP_COLUMNS = 80;

/** The width of help. */
function helpWidth({ isTTY, columns }: CommandContext["out"]): number {
  return (isTTY === true ? columns : undefined) ?? HELP_COLUMNS;
}

/** Give the command what it is told to do, and return its exit code. `silence` ends notes and progress. */
async function main(
  args: readonly string[],
  version: string,
  context: CommandContext,
  silence: () => void,
): Promise<number> {
  const { out, err, signal } = context;
  const began = monotonicMs();
  let running: Command | undefined;
  const program = await createProgram(version, context, (name) => args.includes(name));
  program.hook("preAction", (_, command) => {
    running = command;
    if (command.opts()["quiet"] === true) {
      silence();
    }
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return EXIT.ok;
  } catch (reason) {
    if (reason instanceof CommanderError) {
      return reason.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    // What the command has found stays so where nobody reads its output any more.
    if (reason instanceof Reported && !(signal.reason instanceof Interruption)) {
      return reason.exitCode;
    }
    // An interruption must not hide that a transaction may have arrived.
    if (signal.aborted && !(reason instanceof OutcomeUnknownError)) {
      return interruptedCode(signal);
    }
    const told = reason instanceof TradewireError ? asTyped(reason, running) : undefined;
    if (args.includes("--json")) {
      out.write(errorJson(reason, told));
    } else {
      err.write(errorText(reason, { told, to: context, ...(running?.opts()["verbose"] === true && { refers: true }) }));
    }
    if (reason instanceof OutcomeUnknownError) {
      return EXIT.unknown;
    }
    return reason instanceof RequestError ? EXIT.usage : EXIT.failure;
  } finally {
    if (running?.opts()["verbose"] === true) {
      err.write(`${fullName(running)}: ended after ${Math.round(monotonicMs() - began)} ms\n`);
    }
  }
}

/** Answer a shell that completes, with what may stand in place of the last of the words. */
async function answerShell(words: readonly string[], version: string, context: CommandContext): Promise<void> {
  const { complete, completionText } = await import("./completion/complete.js");
  const program = await createProgram(version, context, (name) => words.includes(name));
  context.out.write(completionText(await complete(program, words)));
}

/** What stands behind a command's name in the list of commands. */
function term(command: Command): string {
  const listed = COMMANDS.get(command.name());
  return listed ? `${command.name()} ${listed.takes}`.trimEnd() : new Help().subcommandTerm(command);
}

/** What a run of the command takes from outside. */
export interface CommandRun extends Pick<CommandContext, "in" | "out" | "err" | "environment" | "signal"> {
  /** The arguments, without the name of the command. */
  readonly args: readonly string[];
  /** What `--version` prints. */
  readonly version: string;
}

/**
 * Run the command `tradewire`. Of the process it uses nothing but the working directory, and it changes nothing there.
 *
 * @param run arguments, streams and environment; a signal that is aborted with an {@link Interruption} ends the run as a
 *   signal to the process does
 * @returns the exit code
 */
export async function runCommand(run: CommandRun): Promise<number> {
  const { args, version } = run;
  const notes = createNotes(run.err);
  const context: CommandContext = {
    // The getter leaves standard input untouched until a command reads it: a terminal would keep the process alive.
    get in() {
      return run.in;
    },
    out: run.out,
    err: run.err,
    get notes() {
      return notes.stream;
    },
    environment: run.environment,
    signal: run.signal,
  };
  if (args[0] === COMPLETE) {
    await answerShell(args.slice(1), version, context);
    return EXIT.ok;
  }
  return await main(args, version, context, notes.silence);
}
