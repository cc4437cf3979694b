import type { Command } from "commander";
import { closestName } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import { CommandOption } from "./declarations.js";

/**
 * Converts a usage error of Commander to an error of the library, which suggests the nearest command, option or choice.
 */
export function usageError(text: string, command: Command): RequestError {
  const [first = ""] = text.split("\n");
  const { summary, near, advice } = explain(first.replace(/^error: /, ""), command);
  const suggestion = near === undefined ? "" : `Did you mean ${near}? `;
  return new RequestError(summary, {
    errorCode: "TW_USAGE",
    advice: `${suggestion}${advice ?? `Try \`${fullName(command)} --help\`.`}`,
  });
}

/** Returns the name of a command as typed. */
export function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** Returns the option that a name abbreviates, as `--from` does `--from-block`, or otherwise the most likely one. */
function nearestOption(name: string, flags: readonly string[]): string | undefined {
  const words = flags.map((flag) => flag.replace(/^--/, ""));
  const near = name.startsWith("--") ? closestName(name.slice(2), words) : undefined;
  return flags.find((flag) => flag.startsWith(`${name}-`)) ?? (near && `--${near}`);
}

const TOKENS =
  "Tokens go into `headers` of a configuration file, or into TRADEWIRE_GRPC_HEADERS or TRADEWIRE_REST_HEADERS: other users can read arguments.";

/** Returns how to pass secrets, if an unknown option looks like one for a secret; no option accepts secrets. */
function adviceOnSecret(name: string): string | undefined {
  return /^--(access-|auth-|bearer-)?(token|headers?|api-?key|password|auth)$/.test(name) ? TOKENS : undefined;
}

interface Explanation {
  readonly summary: string;
  /** The most likely intended name. */
  readonly near?: string | undefined;
  /** What to do; without it, the help is recommended. */
  readonly advice?: string | undefined;
}

/** Returns how to print the version, for the flag that some commands use for it. */
function adviceOnVersion(name: string): string | undefined {
  return name === "-v" ? "For the version, use -V or --version; for a log of all calls, --verbose." : undefined;
}

/** Returns how to get JSON from a command whose output is not one document. */
function adviceOnJson(name: string, flags: readonly string[], command: Command): string | undefined {
  return name === "--json" && flags.includes("--output")
    ? `Use -o jsonl: \`${fullName(command)}\` prints one JSON object per line as it goes, not one document.`
    : undefined;
}

/** Says where the options of commands belong, for options in front of a command. */
function adviceOnPlace(option: string): string {
  return `Options follow the command: \`tradewire COMMAND ${option}\`.`;
}

/** Returns the way to what a surplus argument probably means; undefined if the command has none. */
function adviceOnArgument(value: string, command: Command): string | undefined {
  const name = fullName(command);
  const target = command.options.some(({ flags }) => flags.includes("--to <target>"));
  if (target && /\.(duckdb|ddb|db)$/i.test(value)) {
    return `Did you mean --to duckdb:${value}? Try \`${name} --help\`.`;
  }
  const filters = filtersOf(value, command);
  return filters.length === 0 ? undefined : `To filter, use ${filters.join(" or ")}. Try \`${name} --help\`.`;
}

/** Returns the options of a command that select what it prints and accept a value. */
function filtersOf(value: string, { options }: Command): string[] {
  return options.flatMap((option) => {
    try {
      if (!(option instanceof CommandOption) || !option.isFilter) {
        return [];
      }
      option.parseArg?.(value, undefined);
      return [`${option.long} ${value}`];
    } catch {
      return [];
    }
  });
}

/** Says how to save the output, for an option that looks as if it did. */
function adviceOnSaving(name: string, flags: readonly string[], command: Command): string | undefined {
  if (!/^--(out|out-?file|output-file|file|save)$/.test(name)) {
    return undefined;
  }
  const toFile = flags.includes("--to") && command.name() !== "call";
  return toFile ? "Did you mean --to?" : "To save the output, redirect it: `> FILE`.";
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
    const advice =
      adviceOnSecret(name) ??
      adviceOnVersion(name) ??
      adviceOnSaving(name, flags, command) ??
      (command.parent === null ? adviceOnPlace(name) : adviceOnJson(name, flags, command));
    return {
      summary: `unknown option '${name}'`,
      near: advice === undefined ? nearestOption(name, flags) : undefined,
      advice,
    };
  }
  if (text.startsWith("required option")) {
    const missing = command.options.filter(
      (each) => each.mandatory && command.getOptionValue(each.attributeName()) === undefined,
    );
    const [argument] = command.args;
    const near = argument === undefined ? [] : filtersOf(argument, command);
    return { summary: `missing ${missing.map((each) => `${each.flags}`).join(", ")}`, near: near[0] };
  }
  const surplus = text.startsWith("too many arguments") ? command.args[command.registeredArguments.length] : undefined;
  if (surplus !== undefined) {
    return { summary: `unexpected argument '${surplus}'`, advice: adviceOnArgument(surplus, command) };
  }
  const [, summary = text, value = "", choices] = /^(.*argument '(.*)' is invalid)\. (.*)$/.exec(text) ?? [];
  const [, listed] = /^Allowed choices are (.*)\.$/.exec(choices ?? "") ?? [];
  const isPath = /[./]/.test(value) && summary.startsWith("option '-o");
  const saved = flags.includes("--to") && command.name() !== "call" ? `--to ${value}` : `> ${value}`;
  const near = isPath ? saved : listed === undefined ? undefined : closestName(value, listed.split(", "));
  return { summary, advice: choices, near };
}
