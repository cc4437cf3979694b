import { Argument, type Command } from "commander";
import { SCRIPTS } from "../completion/scripts.js";
import { SHELLS } from "../completion/shells.js";
import { type CommandContext, writeOut } from "../output.js";

/**
 * Add the command `completion`, which prints what makes a shell complete.
 *
 * @param command the command `completion`, which is given its arguments, options and action
 * @param context the streams of the command
 */
export function addCompletion(command: Command, context: CommandContext): void {
  command
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => writeOut(context, SCRIPTS[shell]));
}
