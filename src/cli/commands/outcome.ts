import { create } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { RequestError } from "../../errors/index.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions, milliseconds } from "../client-options.js";
import { readTransactionInput } from "../json-input.js";
import type { CommandContext } from "../output.js";
import { printOutcome } from "../print-outcome.js";

interface OutcomeOptions extends ClientOptions {
  readonly signed?: string;
  readonly wait?: number;
  readonly json?: boolean;
}

/**
 * Adds the command `outcome`, which finds the outcome of a transaction that was sent earlier (specification, 6).
 *
 * @param command the command `outcome`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addOutcome(command: Command, context: CommandContext): void {
  command
    .argument("[hash]", "the transaction's hash, as `submit` prints it: 64 hex digits")
    .option("--signed <file>", "the signed transaction, as `sign` prints it: also finds what it brought by identifier")
    .addOption(
      new Option("--wait <duration>", "maximum time for all of it, such as 10s, 2m (default: 30s)").argParser((text) =>
        milliseconds("--wait", text),
      ),
    )
    .option("--chain-id <id>", "the chain that the node has to be on")
    .option("--json", "print one JSON object");
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action(async (hash: string | undefined, options: OutcomeOptions) => {
    const sent = await sentTransaction(hash, options, context);
    await using client = commandClient(options, context);
    const outcome = await client.outcome(sent, { timeoutMs: options.wait, signal: context.signal });
    printOutcome(outcome, context, options);
  });
}

/** The transaction that is asked for: by its hash, or by itself. */
async function sentTransaction(hash: string | undefined, { signed }: OutcomeOptions, context: CommandContext) {
  if ((hash === undefined) === (signed === undefined)) {
    throw new RequestError(hash === undefined ? "no transaction is named" : "give the hash or --signed, not both", {
      advice: "Give its hash, as `tradewire submit` prints it, or --signed FILE.",
    });
  }
  if (hash !== undefined) {
    return hash;
  }
  const { request } = await readTransactionInput(signed ?? "", context);
  if (request?.tx === undefined) {
    throw new RequestError("the file has a command, not a signed transaction", {
      advice: "Give what `tradewire sign` printed; a command that was not signed has no outcome.",
    });
  }
  return create(TransactionSchema, request.tx);
}
