import { type Command, Option } from "commander";
import { RequestError } from "../base/errors/index.js";
import { EXAMPLES } from "./examples.js";
import { type CommandContext, isColored, styled } from "./output.js";
import { fullName, usageError } from "./usage-error.js";

/**
 * Adds the features of all commands to a command and its subcommands: the options `--quiet`, `--verbose` and `--no-color`,
 * examples, and usage errors in the form of all errors.
 */
export function finish(command: Command, context: CommandContext): void {
  const { out, err, environment } = context;
  const isRun = command.parent !== null && (command.options.length > 0 || command.commands.length === 0);
  if (isRun) {
    addCommonOptions(command);
  }
  command.addOption(new Option(NO_COLOR, "disable colors, like the environment variable NO_COLOR"));
  for (const option of command.options) {
    nameInErrors(option);
    requireValue(option, command);
  }
  if (command.commands.length > 0 && command.parent !== null) {
    command.helpCommand("help [command]", "Show the help of a command.");
  }
  command
    .helpOption("-h, --help", "show this help")
    .configureHelp({
      ...command.configureHelp(),
      minWidthToWrap: MIN_HELP_COLUMN,
      styleTitle: (title) => styled(out, "bold", title, environment),
    })
    .configureOutput({
      getOutHasColors: () => isColored(out, environment),
      getErrHasColors: () => isColored(err, environment),
      outputError(text) {
        throw usageError(text, command);
      },
    });
  const examples = EXAMPLES[fullName(command)];
  if (examples !== undefined) {
    const lines = examples.map(([line, what]) => `  # ${what}\n  ${line}\n`);
    command.addHelpText("after", () =>
      `\n${styled(out, "bold", "Examples:", environment)}\n${lines.join("")}`.trimEnd(),
    );
  }
  for (const below of command.commands) {
    finish(below, context);
  }
}

/** The minimum width of the descriptions in help; narrower ones are not broken into lines. */
const MIN_HELP_COLUMN = 20;

/** The flag that turns colors off, including for help and usage errors. */
export const NO_COLOR = "--no-color";

function addCommonOptions(command: Command): void {
  const common = [
    new Option("-q, --quiet", "print no progress and no notes; errors and warnings are still printed").conflicts(
      "verbose",
    ),
    new Option("--verbose", "log calls with their duration, waits, retries and fallbacks to standard error"),
  ];
  for (const option of common) {
    command.addOption(option);
  }
}

/** Rejects an option in place of another one's value: Commander accepts any argument as the value. */
function requireValue(option: Option, command: Command): void {
  if (!option.required) {
    return;
  }
  const { parseArg, long, flags } = option;
  option.argParser<unknown>((text, before) => {
    if (/^--[a-z]/.test(text) || command.options.some(({ short }) => short === text)) {
      throw new RequestError(`${long} needs a value (got the option ${text.replace(/=.*/s, "")})`, {
        errorCode: "TW_USAGE",
        advice: `Write ${flags}. Try \`${fullName(command)} --help\`.`,
      });
    }
    return parseArg === undefined ? text : parseArg(text, before);
  });
}

/** Adds the name of an option to the errors of its parser. */
function nameInErrors(option: Option): void {
  const { parseArg, long } = option;
  if (parseArg === undefined || long === undefined || long === null) {
    return;
  }
  option.parseArg = <T>(text: string, before: T): T => {
    try {
      return parseArg(text, before);
    } catch (reason) {
      if (!(reason instanceof RequestError) || reason.option === long) {
        throw reason;
      }
      const { summary } = reason;
      throw new RequestError(`${long}${summary.startsWith("must ") ? "" : ":"} ${summary}`, {
        advice: reason.texts.advice,
        cause: reason,
      });
    }
  };
}
