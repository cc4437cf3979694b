import { PassThrough } from "node:stream";
import type { Command } from "commander";
import type { CommandContext } from "./output.js";
import { createProgram } from "./program.js";
import { watchOutput } from "./standard-output.js";
import { fullName } from "./usage-error.js";

/** The width of the help in the reference, in characters: that of a narrow terminal. */
const WIDTH = 80;

/** Returns the reference of the command: the help of each command, as `--help` prints it. */
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
  const sections = withSubcommands(program).map((command) => {
    const help = helpOf(command);
    return `${"#".repeat(Math.min(fullName(command).split(" ").length + 1, 4))} ${fullName(command)}\n\n\`\`\`text\n${help}\n\`\`\`\n`;
  });
  return `${HEAD}\n${sections.join("\n")}`;
}

const HEAD = `# The command

This page has the output of \`tradewire --help\` and \`tradewire COMMAND --help\`. \`npm run generate:reference\` generates it from the
command.
`;

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
    getOutHelpWidth: () => WIDTH,
  });
  command.outputHelp();
  return text.trimEnd();
}
