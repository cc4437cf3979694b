import type { Command } from "commander";
import { closestName } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";

/**
 * Converts a usage error of Commander to an error of the library, which suggests the nearest command, option or choice.
 *
 * @param text Commander's text
 * @param command the command that was used wrong
 * @returns the error, which is printed like all others, also with `--json`
 */
export function usageError(text: string, command: Command): RequestError {
  const [first = ""] = text.split("\n");
  const { summary, near, choices } = explain(first.replace(/^error: /, ""), command);
  const suggestion = near === undefined ? "" : `Did you mean ${near}? `;
  return new RequestError(summary, {
    errorCode: "TW_USAGE",
    advice: `${suggestion}${choices ?? `Try \`${fullName(command)} --help\`.`}`,
  });
}

/**
 * Returns the name of a command as it is typed.
 *
 * @param command the command
 * @returns the names from `tradewire` on
 */
export function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** Returns the option that a name abbreviates, as `--from` does `--from-block`, or else the nearest one. */
function nearestOption(name: string, flags: readonly string[]): string | undefined {
  return flags.find((flag) => flag.startsWith(`${name}-`)) ?? closestName(name, flags);
}

/** The explanation of a usage error. */
interface Explanation {
  readonly summary: string;
  /** What the user probably meant. */
  readonly near?: string | undefined;
  readonly choices?: string | undefined;
}

function explain(text: string, command: Command): Explanation {
  const flags = command.options.flatMap(({ long }) => long ?? []);
  const [, unknownCommand] = /^unknown command '(.*)'$/.exec(text) ?? [];
  if (unknownCommand !== undefined) {
    const names = command
      .createHelp()
      .visibleCommands(command)
      .map((each) => each.name());
    return { summary: text, near: closestName(unknownCommand, names) };
  }
  // A misspelt option is reported before the required one that it stands for.
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
  const [, summary = text, value = "", choices] = /^(.*argument '(.*)' is invalid)\. (.*)$/.exec(text) ?? [];
  const [, listed] = /^Allowed choices are (.*)\.$/.exec(choices ?? "") ?? [];
  return { summary, choices, near: listed === undefined ? undefined : closestName(value, listed.split(", ")) };
}
