import { Argument, type Command, Option } from "commander";
import { quoted } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import type { CommandContext } from "./output.js";

/** The values that a shell offers for an option or an argument. */
export interface CompletionValues {
  readonly values?: readonly string[];
  /** Whether the path of a file or folder fits too. */
  readonly files?: boolean;
}

/** Finds the values that a shell offers, given the typed part of the value. */
export type FindValues = (word: string) => CompletionValues | Promise<CompletionValues>;

/** The properties of an option besides its value. */
export interface OptionSettings {
  /** The short flag, such as `-o`. */
  readonly short?: string;
  /** The other options that it excludes, by the names of their values, such as `schemaVersion`. */
  readonly conflicts?: readonly string[];
  /** The heading of the help that it is listed under; without it, the general one. */
  readonly group?: string;
  /** The values that a shell offers, if neither choices nor the placeholder determine them. */
  readonly completions?: FindValues | undefined;
  /** Whether it selects what the command prints, so that an argument that the command does not take may be its value. */
  readonly isFilter?: boolean;
}

/** Whether an option has a value if the command line does not give it. */
type Presence = "optional" | "required" | "defaulted";

/**
 * The declaration of an option. Parsing, help, completion, the reference and the type of its value all derive from it. The name
 * of its flag is derived from the name of its value in the options: `fromBlock` becomes `--from-block`.
 */
export interface OptionDeclaration<Value, Requirement extends Presence = Presence> extends OptionSettings {
  readonly presence: Requirement;
  readonly description: string;
  /** How the help writes the value: `<count>`, or `[count]` if it is optional. Without it, the option is a flag. */
  readonly placeholder?: string;
  /** Whether the flag turns off what is on by default: `reconnect` is then given as `--no-reconnect`. */
  readonly isNegated?: boolean;
  readonly choices?: readonly string[];
  /** How it takes several values: as a list of names, with commas or by repetition; or one by one, with any text in each. */
  readonly repeats?: "list" | "values";
  /** Whether it is a list in other commands only. */
  readonly takesOne?: boolean;
  /** Parses a value. `flag` names the option in errors; one that may be repeated also receives the value so far. */
  parse?(text: string, flag: string, previous: Value | undefined): Value;
  readonly defaultValue?: Value;
  /** How the help writes the default. */
  readonly defaultText?: string;
}

/** The options of a command, or some that several commands share, by the names of their values. */
export type OptionDeclarations = Readonly<Record<string, OptionDeclaration<unknown>>>;

type ValueOf<Declared> = Declared extends OptionDeclaration<infer Value> ? Value : never;
type OptionalName<Declared> = {
  [Name in keyof Declared]: Declared[Name] extends { readonly presence: "optional" } ? Name : never;
}[keyof Declared];

export type OptionValues<Declared extends OptionDeclarations> = {
  readonly [Name in Exclude<keyof Declared, OptionalName<Declared>>]: ValueOf<Declared[Name]>;
} & {
  readonly [Name in OptionalName<Declared>]?: ValueOf<Declared[Name]>;
};

export function flag(description: string, settings: OptionSettings = {}): OptionDeclaration<boolean, "optional"> {
  return { presence: "optional", description, ...settings };
}

export function negatedFlag(description: string): OptionDeclaration<boolean, "defaulted"> {
  return { presence: "defaulted", description, isNegated: true };
}

export function text(
  placeholder: string,
  description: string,
  settings: OptionSettings = {},
): OptionDeclaration<string, "optional"> {
  return { presence: "optional", placeholder, description, ...settings };
}

/** Declares an option whose text is parsed. */
export function parsed<Value>(
  placeholder: string,
  description: string,
  parse: (text: string, flag: string, previous: Value | undefined) => Value,
  settings: OptionSettings = {},
): OptionDeclaration<Value, "optional"> {
  return { presence: "optional", placeholder, description, parse, ...settings };
}

export function choice<const Value extends string>(
  placeholder: string,
  description: string,
  choices: readonly Value[],
  settings: OptionSettings = {},
): OptionDeclaration<Value, "optional"> {
  return { presence: "optional", placeholder, description, choices, ...settings };
}

/** Declares an option with a list of names: separated by commas, or with the option repeated. */
export function list<Value = string>(
  placeholder: string,
  description: string,
  parse: (text: string, flag: string) => Value,
  settings: OptionSettings = {},
): OptionDeclaration<readonly Value[], "optional"> {
  const append = (text: string, flag: string, previous: readonly Value[] = []) => {
    const names = text.split(",").map((name) => name.trim());
    if (names.includes("")) {
      throw new RequestError(`must be one or more values, separated by commas (got ${quoted(text)})`);
    }
    return [...previous, ...names.map((name) => parse(name, flag))];
  };
  return { ...parsed(placeholder, description, append, settings), repeats: "list" };
}

/** Declares an option that takes a {@link list} in other commands, and a single value in this one. */
export function single<Value = string>(
  placeholder: string,
  description: string,
  parse: (text: string, flag: string) => Value,
  settings: OptionSettings = {},
): OptionDeclaration<Value, "optional"> {
  const only = (text: string, flag: string, previous: Value | undefined) => {
    if (previous !== undefined || text.includes(",")) {
      throw new RequestError(
        `must have one value in this command (got ${quoted(text)}${previous === undefined ? "" : " as well"})`,
      );
    }
    return parse(text, flag);
  };
  return { ...parsed(placeholder, description, only, settings), repeats: "list", takesOne: true };
}

/** Declares an option with a list of names that are not checked. */
export function textList(
  placeholder: string,
  description: string,
  settings: OptionSettings = {},
): OptionDeclaration<readonly string[], "optional"> {
  return list(placeholder, description, (name) => name, settings);
}

export function required<Value>(declaration: OptionDeclaration<Value>): OptionDeclaration<Value, "required"> {
  return { ...declaration, presence: "required" };
}

export function withDefault<Value>(
  declaration: OptionDeclaration<Value>,
  defaultValue: NoInfer<Value>,
  defaultText?: string,
): OptionDeclaration<Value, "defaulted"> {
  return { ...declaration, presence: "defaulted", defaultValue, ...(defaultText !== undefined && { defaultText }) };
}

/** Declares an option that may be repeated, and whose value may contain commas. */
export function repeatedText(
  placeholder: string,
  description: string,
  settings: OptionSettings = {},
): OptionDeclaration<readonly string[], "optional"> {
  const append = (text: string, _flag: string, previous: readonly string[] = []) => [...previous, text];
  return { ...parsed(placeholder, description, append, settings), repeats: "values" };
}

export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** An option of Commander that knows its completions. */
export class CommandOption extends Option {
  readonly completions: FindValues | undefined;
  readonly isFilter: boolean;
  readonly repeats: OptionDeclaration<unknown>["repeats"];

  constructor(name: string, { short, isNegated = false, placeholder, ...declaration }: OptionDeclaration<unknown>) {
    const long = flagOf(isNegated ? `no-${name}` : name);
    const flags = short === undefined ? long : `${short}, ${long}`;
    const isList = declaration.repeats === "list" && declaration.takesOne !== true;
    const value = isList ? placeholder?.replace(">", ",...>") : placeholder;
    super(value === undefined ? flags : `${flags} ${value}`, declaration.description);
    const { presence, choices, defaultValue, defaultText, conflicts, group, completions, isFilter } = declaration;
    this.completions = completions;
    this.repeats = declaration.repeats;
    this.isFilter = isFilter === true;
    this.makeOptionMandatory(presence === "required");
    if (choices !== undefined) {
      this.choices(choices);
    }
    if (declaration.parse !== undefined) {
      this.argParser((text, previous) => declaration.parse?.(text, long, previous));
    }
    if (defaultValue !== undefined) {
      this.default(defaultValue, defaultText);
    }
    if (conflicts !== undefined) {
      this.conflicts([...conflicts]);
    }
    if (group !== undefined) {
      this.helpGroup(group);
    }
  }
}

/** Adds declared options to a command, in the order of their declarations. */
export function addOptions(command: Command, declarations: OptionDeclarations): Command {
  for (const [name, declaration] of Object.entries(declarations)) {
    command.addOption(new CommandOption(name, declaration));
  }
  return command;
}

/**
 * Defines a command by its options and by what it runs, with its arguments, the values of its options and the context.
 * Returns the function that adds both to the command.
 */
export function defineCommand<Declared extends OptionDeclarations, Arguments extends readonly unknown[] = []>(
  declarations: Declared,
  run: (...given: [...Arguments, OptionValues<Declared>, CommandContext]) => void | Promise<void>,
): (command: Command, context: CommandContext) => void {
  return (command, context) => {
    // Commander passes the arguments, the options and the command.
    addOptions(command, declarations).action((...given) => Reflect.apply(run, undefined, given.with(-1, context)));
  };
}

/** Adds the options and the action of a command that also has subcommands. An argument would name a subcommand. */
export function addOwnAction<Declared extends OptionDeclarations>(
  command: Command,
  declarations: Declared,
  run: (options: OptionValues<Declared>) => Promise<void>,
): void {
  addOptions(command, declarations)
    .allowExcessArguments()
    .action(async (options: OptionValues<Declared>, { args: [unknown] }: Command) => {
      if (unknown !== undefined) {
        command.error(`error: unknown command '${unknown}'`);
      }
      await run(options);
    });
}

/** An argument of a command, as the command declares it. */
export interface ArgumentDeclaration {
  /** How the help writes it: `<file>`, `[key]` if it is optional, `<files...>` if there may be several. */
  readonly name: string;
  readonly description?: string;
  readonly choices?: readonly string[];
  /** The values that a shell offers, if neither choices nor the name determine them. */
  readonly completions?: FindValues;
}

/** An argument of Commander that knows its completions. */
export class CommandArgument extends Argument {
  readonly completions: FindValues | undefined;

  constructor({ name, description, choices, completions }: ArgumentDeclaration) {
    super(name, description);
    this.completions = completions;
    if (choices !== undefined) {
      this.choices(choices);
    }
  }
}

export function addArguments(command: Command, declarations: readonly ArgumentDeclaration[]): Command {
  for (const declaration of declarations) {
    command.addArgument(new CommandArgument(declaration));
  }
  return command;
}

/** The shells that the command prints completion scripts for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** The first argument of these scripts' requests for completions. */
export const COMPLETE = "__complete";
