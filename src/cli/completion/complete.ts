import type { Argument, Command, Option } from "commander";
import { type Values, valuesOf } from "./values.js";

/** What may stand at the cursor. */
export interface Completions {
  readonly values: readonly Completion[];
  /** Whether the name of a file may stand there too. */
  readonly files: boolean;
}

interface Completion {
  readonly value: string;
  readonly description?: string;
}

/**
 * Find what may stand next on the command line.
 *
 * @param program the command with those below it; the one that is named has its options
 * @param words the words behind the command's name; the last is the one at the cursor, which may be empty
 * @returns what may stand in place of the last word
 */
export async function complete(program: Command, words: readonly string[]): Promise<Completions> {
  const word = words.at(-1) ?? "";
  // Behind `help` stands what would stand without it.
  const before = words.slice(words[0] === "help" && words.length > 1 ? 1 : 0, -1);
  const { command, operands, open } = read(program, before);
  // A value that may be left out does not begin with a hyphen: `read` takes such a word for the next option, too.
  if (open !== undefined && (open.required || !word.startsWith("-"))) {
    return begun(word, await valuesOf(open, command, word));
  }
  const [, name = "", value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  if (value !== undefined) {
    const option = command.options.find(({ long }) => long === name);
    const { values, files } = option === undefined ? NONE : begun(value, await valuesOf(option, command, value));
    return { values: values.map((each) => ({ ...each, value: `${name}=${each.value}` })), files };
  }
  if (word.startsWith("-")) {
    const flags = command.createHelp().visibleOptions(command).flatMap(flagOf);
    return { values: flags.filter(({ value }) => value.startsWith(word)), files: false };
  }
  const commands = operands.length === 0 ? command.createHelp().visibleCommands(command) : [];
  const below = commands.map((each) => ({ value: each.name(), description: each.description() }));
  const argument = argumentAt(command, operands.length);
  const { values, files } = argument === undefined ? NONE : begun(word, await valuesOf(argument, command, word));
  return { values: [...below.filter(({ value }) => value.startsWith(word)), ...values], files };
}

const NONE: Completions = { values: [], files: false };

/** What words lead to: a command, what it was given, and the option that still wants its value. */
interface Read {
  readonly command: Command;
  readonly operands: readonly string[];
  readonly open: Option | undefined;
}

function read(command: Command, words: readonly string[]): Read {
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
    const below = operands.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (below !== undefined) {
      return read(below, words.slice(index + 1));
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

function flagOf({ long, short, description }: Option): Completion[] {
  const flag = long ?? short;
  return flag === undefined || flag === null ? [] : [{ value: flag, description }];
}

/** Those of the values that begin as the word does. */
function begun(word: string, { values = [], files = false }: Values): Completions {
  return { values: values.filter((value) => value.startsWith(word)).map((value) => ({ value })), files };
}

/**
 * Write completions for a shell.
 *
 * @param completions what may stand at the cursor
 * @returns a line for each value, with its description behind a tab, and `:files` or `:end`
 */
export function completionText({ values, files }: Completions): string {
  const lines = values.map(({ value, description = "" }) => `${value}${description && `\t${description}`}\n`);
  return `${lines.join("")}${files ? ":files" : ":end"}\n`;
}
