import { type Command, Option } from "commander";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions, milliseconds } from "../client-options.js";
import type { CommandContext } from "../output.js";
import { printOutcome } from "../print-outcome.js";

interface OutcomeOptions extends ClientOptions {
  readonly wait?: number;
  readonly json?: boolean;
}

/**
 * Add the command `outcome`, which tells what became of a transaction that was sent earlier (specification, 6).
 *
 * @param command the command `outcome`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addOutcome(command: Command, context: CommandContext): void {
  command
    .argument("<hash>", "the transaction's hash, as `submit` prints it: 64 hex digits")
    .addOption(
      new Option("--wait <duration>", "longest wait for its result, such as 10s, 2m (default: 30s)").argParser((text) =>
        milliseconds("--wait", text),
      ),
    )
    .option("--json", "print one JSON object");
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action(async (hash: string, options: OutcomeOptions) => {
    await using client = commandClient(options, context);
    const outcome = await client.outcome(hash, { timeoutMs: options.wait, signal: context.signal });
    printOutcome(outcome, context, options);
  });
}
