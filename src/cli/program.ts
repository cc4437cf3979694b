import { Writable } from "node:stream";
import { Command, CommanderError, Help } from "commander";
import { Code } from "../base/errors/code.js";
import { type ErrorWording, type OptionNames, wordingOf } from "../base/errors/error-text.js";
import {
  CanceledError,
  ConnectionError,
  OutcomeUnknownError,
  RequestError,
  type Server,
  serverOf,
  TradewireError,
} from "../base/errors/index.js";
import { CHECK_TRANSPORT } from "../base/errors/network-failure.js";
import { lazily, startLoading } from "../base/input/lazy.js";
import { monotonicMs, type StopTimer, startTimer } from "../base/runtime/index.js";
import { linkedController } from "../base/signal/abort.js";
import { tableNames } from "../data/schema/table-names.js";
import type { LoadedConfig } from "../index.js";
import { COMMANDS, GROUPS } from "./commands.js";
import { addArguments, COMPLETE } from "./declarations.js";
import { finish, NO_COLOR } from "./finish.js";
import {
  type CommandContext,
  type CommandOutput,
  EXIT,
  errorJson,
  errorText,
  Interruption,
  interruptedCode,
  OutputClosed,
  printable,
  Reported,
  type Streams,
} from "./output.js";
import { isJsonRequested } from "./output-format.js";
import { textTerminal } from "./progress.js";
import { finalExitCode, watchOutput } from "./standard-output.js";
import { fullName, usageError } from "./usage-error.js";

export { Interruption };

export async function createProgram(
  version: string,
  context: CommandContext,
  isLoaded: (name: string) => boolean,
): Promise<Command> {
  const program = new Command("tradewire")
    .description(
      "Reads markets, orders, accounts and history of a trading network, follows its events, and submits transactions.",
    )
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .exitOverride()
    // An option after a subcommand belongs to the subcommand, even if the parent has one of that name.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => context.out.write(text),
      writeErr: (text) => context.err.write(text),
      getOutHelpWidth: () => helpWidth(context.out),
      getErrHelpWidth: () => helpWidth(context.err),
    });
  for (const [name, listed] of COMMANDS) {
    const command = program.command(name).description(listed.description).helpGroup(`${listed.group}:`);
    addArguments(command, listed.arguments ?? []);
    if (isLoaded(name)) {
      const addTo = await listed.load();
      addTo(command, context);
    }
  }
  program
    .commandsGroup(`${GROUPS.setup}:`)
    .helpCommand("help [command]", "Show the help of a command; --all lists all commands.");
  finish(program, context);
  program.configureHelp({ ...program.configureHelp(), subcommandTerm: listedTerm }); // Set last, so that subcommands do not inherit it.
  return program;
}

/** Returns whether the arguments run a command: the first that is the name of one. Later ones, such as tables, are its values. */
function namedBy(args: readonly string[]): (name: string) => boolean {
  const named = args.find((arg) => COMMANDS.has(arg));
  return (name) => name === named;
}

/** The arguments that ask for the help of `tradewire` itself; without any, it is printed too. */
const HELP: readonly string[] = ["help", "-h", "--help"];

/** The argument that makes this help list all commands. */
const ALL = "--all";

/**
 * Throws if the arguments begin with the name of a command that does not exist, for which Commander would show the help of
 * the command above.
 */
function assertKnown(command: Command, [word = "", ...others]: readonly string[]): void {
  if (word === "help") {
    assertKnown(command, others);
    return;
  }
  if (command.commands.length === 0 || !/^\w/.test(word)) {
    return;
  }
  const named = command.commands.find((each) => each.name() === word);
  if (named === undefined) {
    throw usageError(`error: unknown command '${word}'`, command);
  }
  assertKnown(named, others);
}

/** Makes the help list the commands of everyday tasks only. */
function listEveryday(program: Command): void {
  const visibleCommands = (command: Command) =>
    new Help()
      .visibleCommands(command)
      .filter((each) => COMMANDS.get(each.name())?.isEveryday ?? each.name() === "help");
  program
    .configureHelp({ ...program.configureHelp(), visibleCommands })
    .addHelpText("after", "\nThese are the most common commands; `tradewire help --all` lists all of them.");
}

/** The width of help on a stream of unknown width, in characters. */
const HELP_COLUMNS = 80;

function helpWidth({ isTTY, columns }: CommandContext["out"]): number {
  return (isTTY === true ? columns : undefined) ?? HELP_COLUMNS;
}

interface Execution {
  readonly version: string;
  readonly context: CommandContext;
  /** Ends the command, with the reason why. */
  readonly abort: (reason: CommandTimeout) => void;
  /** Ends notes and progress. */
  readonly silence: () => void;
  /** Returns what the configuration adds to the advice of an error. */
  readonly adviceOn: (reason: unknown) => Promise<string>;
}

/** Values of options that all commands treat alike, where they have them. */
interface CommonOptions {
  readonly quiet?: boolean;
  readonly timeout?: number;
  readonly json?: boolean;
  readonly output?: string;
}

/** Parses the arguments, runs the command that they name, and returns its exit code. */
async function execute(
  args: readonly string[],
  { version, context, abort, silence, adviceOn }: Execution,
): Promise<number> {
  const { out, err, signal } = context;
  const startedAt = monotonicMs();
  let running: Command | undefined;
  const program = await createProgram(version, context, namedBy(args));
  let stopTimer: StopTimer = () => {};
  const parsed = args.some((arg) => HELP.includes(arg)) ? args.filter((arg) => arg !== ALL) : args;
  const isHelp = parsed.every((arg) => HELP.includes(arg));
  if (isHelp && !args.includes(ALL)) {
    listEveryday(program);
  }
  program.hook("preAction", (_, command) => {
    running = command;
    const { quiet, timeout, json, output } = command.opts<CommonOptions>();
    if (json === true && output !== "json" && command.getOptionValueSource("output") === "cli") {
      throw usageError("error: option '--json' cannot be used with option '-o, --output <format>'", command);
    }
    if (quiet === true) {
      silence();
    }
    if (timeout !== undefined) {
      stopTimer = startTimer(() => abort(new CommandTimeout(timeout)), timeout);
    }
  });
  try {
    if (parsed.some((arg) => HELP.includes(arg))) {
      const option = parsed.find((arg) => arg.startsWith("-") && ![...HELP, NO_COLOR].includes(arg));
      if (parsed[0] === "help" && option !== undefined) {
        throw usageError(`error: help has no option '${option}'`, program);
      }
      assertKnown(program, parsed);
    }
    await program.parseAsync(isHelp ? parsed.slice(0, 1) : args, { from: "user" });
    throwIfTimedOut(signal);
    return EXIT.ok;
  } catch (thrown) {
    const hasActed = mayHaveActed(thrown, context.output);
    const { shorter } = (running?.parent === program ? COMMANDS.get(running.name()) : undefined) ?? {};
    const reason = errorOf(thrown, signal, { hasActed, shorter });
    if (reason instanceof CommanderError) {
      return reason.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    if (reason instanceof Reported) {
      return reason.exitCode;
    }
    if (reason instanceof OutputClosed) {
      return EXIT.ok; // The failure of the output decides.
    }
    // An interruption must not hide that a transaction may have been submitted.
    if (signal.aborted && !(signal.reason instanceof CommandTimeout) && !(reason instanceof OutcomeUnknownError)) {
      err.write(hasActed ? `tradewire: interrupted; ${unknownOutcome(thrown)}\n` : "");
      return interruptedCode(signal);
    }
    const wording = reason instanceof TradewireError ? await wordingFor(reason, running, adviceOn) : undefined;
    const writeText = () =>
      err.write(
        errorText(reason, {
          wording,
          to: context,
          ...(running?.opts()["verbose"] === true && { namesExplanation: true }),
        }),
      );
    if (isJsonRequested(args) && !context.output.isBegun) {
      out.write(errorJson(reason, wording), (failure) => failure && writeText());
    } else {
      writeText();
    }
    if (hasActed) {
      return EXIT.unknown;
    }
    return reason instanceof RequestError ? EXIT.usage : EXIT.failure;
  } finally {
    stopTimer();
    if (running?.opts()["verbose"] === true) {
      err.write(`${fullName(running)}: ended after ${Math.round(monotonicMs() - startedAt)} ms\n`);
    }
  }
}

/** The end of a command that takes longer than its `--timeout`. */
class CommandTimeout extends DOMException {
  constructor(ms: number) {
    super(`the command did not end within ${ms} ms`, "AbortError");
  }
}

function throwIfTimedOut({ reason }: AbortSignal): void {
  if (reason instanceof CommandTimeout) {
    throw reason;
  }
}

/** Returns what a failed call was for. */
function calledServer(reason: unknown): Server {
  return reason instanceof TradewireError && reason.method !== undefined ? serverOf(reason.method) : "node";
}

const unknownOutcome = (reason: unknown) => `it is unknown whether the ${calledServer(reason)} executed the call`;

/** Returns the error to report: what a timeout interrupted is less clear than the timeout. */
function errorOf(
  thrown: unknown,
  { reason }: AbortSignal,
  { hasActed, shorter }: { readonly hasActed: boolean; readonly shorter: string | undefined },
): unknown {
  const saysMore = thrown instanceof OutcomeUnknownError || thrown instanceof Reported;
  if (!(reason instanceof CommandTimeout) || saysMore) {
    return thrown;
  }
  const check =
    shorter ?? (calledServer(thrown) === "node" ? "check the node with `tradewire status`" : "check the server");
  return new ConnectionError(hasActed ? `${reason.message}; ${unknownOutcome(thrown)}` : reason.message, {
    code: Code.DeadlineExceeded,
    advice: hasActed ? "Check the effects of the call before you repeat it." : `Use a longer --timeout, or ${check}.`,
    cause: thrown,
  });
}

/** Returns whether a transaction, or a call that changes something, may have been executed. */
function mayHaveActed(reason: unknown, { role }: CommandOutput): boolean {
  const isCut = reason instanceof CanceledError && reason.mayHaveBeenSent;
  return reason instanceof OutcomeUnknownError || (role === "response" && isCut);
}

/** Words an error for the user of a command: with its flags, and with what the configuration adds to the advice. */
async function wordingFor(
  reason: TradewireError,
  running: Command | undefined,
  adviceOn: Execution["adviceOn"],
): Promise<ErrorWording> {
  const { summary, advice } = wordingOf(reason.texts, flagNames(running));
  return { summary, advice: `${advice} ${await adviceOn(reason)}`.trim() };
}

async function answerShell(words: readonly string[], version: string, context: CommandContext): Promise<void> {
  const { complete, completionText } = await import("./completion.js");
  const program = await createProgram(version, context, namedBy(words));
  context.out.write(completionText(await complete(program, words)));
}

/** The name of a command with its arguments, for the list of commands. */
function listedTerm(command: Command): string {
  const listed = COMMANDS.get(command.name());
  if (listed === undefined) {
    return new Help().subcommandTerm(command);
  }
  const names = (listed.arguments ?? []).map(({ name }) => name);
  return [command.name(), ...(listed.listsOptions === false ? [] : ["[options]"]), ...names].join(" ");
}

/** The inputs of a run of the command. */
export interface CommandRun extends Pick<CommandContext, "in" | "out" | "err" | "environment" | "signal"> {
  /** The arguments, without the name of the command. */
  readonly args: readonly string[];
  /** What `--version` prints. */
  readonly version: string;
}

/** Runs the command `tradewire`. It uses only the working directory of the process, and does not change the process. */
export async function runCommand(run: CommandRun): Promise<number> {
  const output = watchOutput(run);
  return finalExitCode(await runProgram(run, output), output);
}

/** Runs the command `tradewire` like {@link runCommand}, but leaves standard output to the caller. */
export async function runProgram(run: CommandRun, output: CommandOutput): Promise<number> {
  const { version } = run;
  const environment = run.args.includes(NO_COLOR) ? { ...run.environment, NO_COLOR: "1" } : run.environment;
  const err = textTerminal(run.err, environment);
  const notes = createNotes(err);
  const limit = linkedController(run.signal);
  const { onConfig, adviceOn } = watchConfig({ err, environment });
  const context: CommandContext = {
    // The getter leaves standard input untouched until a command reads it: a terminal would keep the process alive.
    get in() {
      return run.in;
    },
    out: run.out,
    output,
    err,
    get notes() {
      return notes.stream;
    },
    environment,
    onConfig,
    signal: limit.signal,
  };
  if (run.args[0] === COMPLETE) {
    await answerShell(run.args.slice(1), version, context);
    return EXIT.ok;
  }
  // Commander's `help` knows one level, and ignores an unknown name: `help sync status` becomes `sync status --help`.
  const [word, ...words] = run.args;
  const isHelpOf = word === "help" && words.some((each) => !each.startsWith("-"));
  const args = isHelpOf ? [...words, "--help"] : run.args;
  return await execute(args, { version, context, abort: limit.abort.bind(limit), silence: notes.silence, adviceOn });
}

interface Notes {
  readonly stream: Streams["err"];
  /** Discards everything from now on, as `--quiet` asks. */
  silence(): void;
}

/** Creates the stream for notes and progress, which is standard error until it is silenced. */
function createNotes(err: Streams["err"]): Notes {
  let stream = err;
  return {
    get stream() {
      return stream;
    },
    silence() {
      stream = new Writable({ write: (_, __, done) => done() });
    },
  };
}

/** The flags of options whose names in the library differ: the first one that the command has. */
const OPTION_FLAGS: Readonly<Record<string, readonly string[]>> = {
  pollMs: ["--interval"],
  blockMs: ["--block-time"],
  commitDelayMs: ["--commit-delay"],
  timeoutMs: ["--wait", "--timeout"],
  type: ["--reply", "--type"],
  listen: ["--http", "--socket"],
  admin: ["--admin-socket", "--admin"],
  replaceFrom: ["--replace-from-block"],
  partyIds: ["--party"],
  partyId: ["--party"],
  marketIds: ["--market"],
  marketId: ["--market"],
  assetId: ["--asset"],
  statuses: ["--status"],
  expiryStrategies: ["--expiry-strategy"],
  liveOnly: ["--live"],
  "dateRange.startTimestamp": ["--since"],
  "dateRange.endTimestamp": ["--until"],
  registry: ["--proto"],
  "tls.caFile": ["--ca-file"],
  "limits.maxMessageBytes": ["--max-message-bytes"],
  "limits.maxJsonBytes": ["--max-message-bytes"],
  "timeouts.connectMs": ["--connect-timeout"],
  "timeouts.callMs": ["--call-timeout"],
  "timeouts.idleMs": ["--idle-timeout"],
};

/** Returns how errors name the options of a command: by its flags. */
function flagNames(command: Command | undefined): OptionNames {
  const flags = new Map(command?.options.map((option) => [option.attributeName(), option.long ?? ""]));
  const has = [...flags.values()];
  for (const [name, candidates] of Object.entries(OPTION_FLAGS)) {
    const found = candidates.find((flag) => has.includes(flag));
    if (found !== undefined) {
      flags.set(name, found);
    }
  }
  if (flags.has("genesis")) {
    for (const table of tableNames) {
      flags.set(`genesis.${table}`, `--genesis ${table}`);
    }
  }
  return (option, words = option) => {
    const [name = ""] = option.split("[", 1); // `statuses[0]` is a value of `--status`.
    const flag = flags.get(name);
    return flag === undefined ? words : `${flag}${option.slice(name.length)}`;
  };
}

const loadOrigins = lazily(() => import("./config-origins.js"));

interface UsedConfig {
  /** Records a configuration, and warns once about each file whose secrets other users can read. */
  readonly onConfig: (loaded: LoadedConfig) => void;
  /** Returns where the URLs of nodes that do not answer come from, and how to name others; empty for other errors. */
  readonly adviceOn: (reason: unknown) => Promise<string>;
}

function watchConfig(streams: Pick<Streams, "err" | "environment">): UsedConfig {
  const warnings = new Set<string>();
  let used: LoadedConfig | undefined;
  return {
    onConfig(loaded) {
      used = loaded;
      startLoading(loadOrigins);
      for (const { path, warning } of loaded.files) {
        if (warning !== undefined && !warnings.has(path)) {
          warnings.add(path);
          const text = printable(`${path}: ${warning}`);
          streams.err.write(`tradewire: ${text}. Make it private: chmod 600\n`);
        }
      }
    },
    async adviceOn(reason) {
      if (used === undefined || !(reason instanceof ConnectionError) || reason.isClosed) {
        return "";
      }
      if (reason.connected && reason.texts.advice !== CHECK_TRANSPORT) {
        return "";
      }
      const loaded = await loadOrigins().catch(() => undefined); // The error itself matters more.
      return loaded?.originsOf(used, streams.environment, calledServer(reason)) ?? "";
    },
  };
}
