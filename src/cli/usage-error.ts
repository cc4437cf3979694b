import type { Command } from "commander";
import { RequestError } from "../errors/index.js";
import { nearest } from "../errors/nearest.js";

/**
 * Make one of the library's errors of an error of usage, as Commander words it: what is wrong, and then what to do. It
 * names the nearest command, option or choice.
 *
 * @param text Commander's text
 * @param command the command that was used wrong
 * @returns the error, which is told as all others are, also with `--json`
 */
export function usageError(text: string, command: Command): RequestError {
  const [first = ""] = text.split("\n");
  const { summary, near, choices } = explained(first.replace(/^error: /, ""), command);
  const meant = near === undefined ? "" : `Did you mean ${near}? `;
  return new RequestError(summary, { advice: `${meant}${choices ?? `Try \`${fullName(command)} --help\`.`}` });
}

/**
 * The name of a command as it is typed.
 *
 * @param command the command
 * @returns the names from `tradewire` on
 */
export function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** The option that a name begins, as `--from` begins `--from-block`, or else is nearest to it. */
function nearestOption(name: string, flags: readonly string[]): string | undefined {
  return flags.find((flag) => flag.startsWith(`${name}-`)) ?? nearest(name, flags);
}

/** What is wrong, what was probably meant, and what there is. */
interface Explained {
  readonly summary: string;
  readonly near?: string | undefined;
  readonly choices?: string | undefined;
}

function explained(text: string, command: Command): Explained {
  const flags = command.options.flatMap(({ long }) => long ?? []);
  const [, unknownCommand] = /^unknown command '(.*)'$/.exec(text) ?? [];
  if (unknownCommand !== undefined) {
    const names = command
      .createHelp()
      .visibleCommands(command)
      .map((each) => each.name());
    return { summary: text, near: nearest(unknownCommand, names) };
  }
  // A misspelt option is named before the one that it leaves missing.
  const unknown = command.args.find((arg) => arg.startsWith("-") && arg.length > 1) ?? "";
  if (text.startsWith("unknown option") || (text.startsWith("required option") && unknown !== "")) {
    const [name = ""] = unknown.split("=");
    return {
      summary: `unknown option '${name}'`,
      near: name.startsWith("--") ? nearestOption(name, flags) : undefined,
    };
  }
  if (text.startsWith("required option")) {
    const missing = command.options.filter(
      (each) => each.mandatory && command.getOptionValue(each.attributeName()) === undefined,
    );
    return { summary: `missing ${missing.map((each) => `${each.flags}`).join(", ")}` };
  }
  const [, summary = text, given = "", choices] = /^(.*argument '(.*)' is invalid)\. (.*)$/.exec(text) ?? [];
  const [, listed] = /^Allowed choices are (.*)\.$/.exec(choices ?? "") ?? [];
  return { summary, choices, near: listed === undefined ? undefined : nearest(given, listed.split(", ")) };
}
