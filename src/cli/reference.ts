import { PassThrough } from "node:stream";
import { type Command, Help } from "commander";
import { COMMANDS, GROUPS } from "./commands.js";
import { EXAMPLES } from "./examples.js";
import type { CommandContext } from "./output.js";
import { createProgram } from "./program.js";
import { watchOutput } from "./standard-output.js";
import { fullName } from "./usage-error.js";

const CONNECTION = "Connection:";

/** The options that the reference states once, besides those of the connection. */
const COMMON: readonly unknown[] = ["--quiet", "--verbose", "--no-color", "--help"];

type Row = readonly [name: string, description: string];

/** Returns the reference of the command: what `--help` prints of each command, with the options of many commands once. */
export async function commandReference(): Promise<string> {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const streams = { in: new PassThrough(), out, err, notes: err };
  const context: CommandContext = {
    ...streams,
    output: watchOutput({ out, err, environment: {} }),
    environment: {},
    onConfig: () => {},
    signal: new AbortController().signal,
  };
  const program = await createProgram("", context, () => true);
  const sample = program.commands.find((command) => command.name() === "export") ?? program;
  return `# The command

This page lists the commands by subject, with their arguments, options and examples. In a terminal, \`tradewire help COMMAND\` prints the
same. \`npm run generate:reference\` generates this page from the command.

## Commands

${indexOfCommands()}

## Common options

All commands that do something accept these options. \`tradewire --version\` prints the version.

${optionsTable(sample, ({ long }) => COMMON.includes(long))}

## Connection options

Commands that call a node accept these options. [configuration.md](configuration.md) describes the configuration that they override.

${optionsTable(sample, ({ helpGroupHeading }) => helpGroupHeading === CONNECTION)}

## Examples

${examplesOf(program)}
${program.commands.flatMap((command) => [command, ...command.commands].map(sectionOf)).join("")}`;
}

function indexOfCommands(): string {
  return table(
    "command",
    Object.values(GROUPS).flatMap((group): Row[] => [
      [`**${group}**`, ""],
      ...[...COMMANDS]
        .filter(([, listed]) => listed.group === group)
        .map(([name, { description }]): Row => [linkTo(`tradewire ${name}`, name), description]),
    ]),
  );
}

/** Returns the section of a command, without the options that other sections have. */
function sectionOf(command: Command): string {
  const name = fullName(command);
  const { options, commands } = command;
  const help = new Help();
  const shared = [
    options.some(({ helpGroupHeading }) => helpGroupHeading === CONNECTION) && "[connection](#connection-options)",
    options.some(({ long }) => long === "--quiet") && "[common](#common-options)",
  ].filter((link) => link !== false);
  const parts = [
    `${"#".repeat(name.split(" ").length)} ${name}`,
    command.description(),
    `\`\`\`text\n${help.commandUsage(command)}\n\`\`\``,
    table(
      "argument",
      help
        .visibleArguments(command)
        .map((argument): Row => [`\`${argument.name()}\``, help.argumentDescription(argument)]),
    ),
    optionsTable(command, ({ long, helpGroupHeading }) => !COMMON.includes(long) && helpGroupHeading !== CONNECTION),
    shared.length > 0 && `Also: ${shared.join(" and ")} options.`,
    table(
      "command",
      commands.map((each): Row => [linkTo(fullName(each), each.name()), each.description()]),
    ),
    examplesOf(command),
  ];
  return parts
    .filter((part) => part !== false && part !== "")
    .map((part) => `\n${part}\n`)
    .join("");
}

function optionsTable(command: Command, isListed: (option: Command["options"][number]) => boolean): string {
  const help = new Help();
  const rows = help
    .visibleOptions(command)
    .filter(isListed)
    .map((option): Row => [`\`${option.flags}\``, help.optionDescription(option)]);
  return table("option", rows);
}

function examplesOf(command: Command): string {
  const lines = (EXAMPLES[fullName(command)] ?? []).map(([line, what]) => `# ${what}\n${line}\n`);
  return lines.length === 0 ? "" : `\`\`\`bash\n${lines.join("")}\`\`\``;
}

function linkTo(name: string, text: string): string {
  return `[\`${text}\`](#${name.replaceAll(" ", "-")})`;
}

function table(heading: string, rows: readonly Row[]): string {
  const lines = rows.map(([name, text]) =>
    text === "" ? `| ${name} | |` : `| ${name} | ${text.replaceAll(/`[^`]*`|https?:[^"\s]+|[|<*]/g, escaped)} |`,
  );
  return lines.length === 0 ? "" : [`| ${heading} | |`, "|---|---|", ...lines].join("\n");
}

/** Returns what Markdown shows as this text: code, an address or a character with a meaning. */
function escaped(part: string): string {
  if (part.startsWith("`")) {
    return part;
  }
  return part.length > 1 ? `\`${part}\`` : `\\${part}`;
}
