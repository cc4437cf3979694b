import type { Argument, Command, Option } from "commander";
import { CommandArgument, CommandOption, type CompletionValues } from "./declarations.js";

/** The completions of a word. */
export interface Completions {
  readonly values: readonly Completion[];
  /** Whether the path of a file fits too. */
  readonly files: boolean;
}

interface Completion {
  readonly value: string;
  readonly description?: string;
}

export async function complete(program: Command, words: readonly string[]): Promise<Completions> {
  const word = words.at(-1) ?? "";
  // `help` is completed as if it were left out.
  const before = words.slice(words[0] === "help" && words.length > 1 ? 1 : 0, -1);
  const { command, operands, open } = findPosition(program, before);
  // `findPosition` reads a word with a hyphen as the next option if a value may be left out, so it is completed as one.
  if (open !== undefined && (open.required || !word.startsWith("-"))) {
    return matching(word, await valuesOf(open, word));
  }
  const [, name = "", value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  if (value !== undefined) {
    const option = command.options.find(({ long }) => long === name);
    const { values, files } = option === undefined ? NONE : matching(value, await valuesOf(option, value));
    return { values: values.map((each) => ({ ...each, value: `${name}=${each.value}` })), files };
  }
  if (word.startsWith("-")) {
    const flags = command.createHelp().visibleOptions(command).flatMap(flagCompletion);
    return { values: flags.filter(({ value }) => value.startsWith(word)), files: false };
  }
  const subcommands = (operands.length === 0 ? command.createHelp().visibleCommands(command) : [])
    .map((each) => ({ value: each.name(), description: each.description() }))
    .filter(({ value }) => value.startsWith(word));
  const argument = argumentAt(command, operands.length);
  const { values, files } = argument === undefined ? NONE : matching(word, await valuesOf(argument, word));
  return { values: [...subcommands, ...values], files };
}

const NONE: Completions = { values: [], files: false };

interface Position {
  readonly command: Command;
  readonly operands: readonly string[];
  /** The option that the next word is the value of. */
  readonly open: Option | undefined;
}

function findPosition(command: Command, words: readonly string[]): Position {
  const operands: string[] = [];
  let open: Option | undefined;
  for (const [index, word] of words.entries()) {
    if (open?.required === true || (open !== undefined && !word.startsWith("-"))) {
      open = undefined;
      continue;
    }
    open = command.options.find(({ long, short, required, optional }) => {
      return (word === long || word === short) && (required || optional);
    });
    const subcommand = operands.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (subcommand !== undefined) {
      return findPosition(subcommand, words.slice(index + 1));
    }
    if (!word.startsWith("-")) {
      operands.push(word);
    }
  }
  return { command, operands, open };
}

function argumentAt({ registeredArguments }: Command, index: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[index] ?? (last?.variadic === true ? last : undefined);
}

function flagCompletion({ long, short, description }: Option): Completion[] {
  const value = long ?? short;
  return value === undefined || value === null ? [] : [{ value, description }];
}

/** The placeholders of options, and the names of arguments, that stand for paths. */
const PATHS = new Set(["file", "files", "folder", "path"]);

/** Returns the values of an option or an argument: its choices, those that it declares, or paths. */
async function valuesOf(target: Option | Argument, word: string): Promise<CompletionValues> {
  if (target.argChoices !== undefined) {
    return { values: target.argChoices };
  }
  if ((target instanceof CommandOption || target instanceof CommandArgument) && target.completions !== undefined) {
    return await target.completions(word);
  }
  const [, placeholder = ""] = "flags" in target ? (/[<[](\w+)/.exec(target.flags) ?? []) : ["", target.name()];
  return { files: PATHS.has(placeholder) };
}

function matching(word: string, { values = [], files = false }: CompletionValues): Completions {
  return { values: values.filter((value) => value.startsWith(word)).map((value) => ({ value })), files };
}

export function completionText({ values, files }: Completions): string {
  const lines = values.map(({ value, description = "" }) => `${value}${description && `\t${description}`}\n`);
  return `${lines.join("")}${files ? ":files" : ":end"}\n`;
}
