import { create } from "@bufbuild/protobuf";
import { TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { RequestError } from "../../base/errors/index.js";
import type { Outcome, OutcomePart } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, type OptionValues, text } from "../declarations.js";
import { type CommandContext, EXIT, type OutputContext, printable, Reported } from "../output.js";
import { type OutputFormat, outputFormat, outputOptions, printReport } from "../output-format.js";
import { chainIdOption, waitOption } from "../shared-options.js";
import { readTransactionInput } from "../transaction-input.js";

const outcomeOptions = {
  signed: text("<file>", "the signed transaction, as `sign` prints it; also finds the records that it created, by ID"),
  wait: waitOption("(default: 30s)"),
  chainId: chainIdOption,
  ...outputOptions,
  ...clientOptions,
};

type OutcomeCommandOptions = OptionValues<typeof outcomeOptions>;

/** Defines the command `outcome`, which finds the outcome of a transaction that was sent earlier. */
export const addOutcome = defineCommand(
  outcomeOptions,
  async (hash: string | undefined, options: OutcomeCommandOptions, context: CommandContext) => {
    context.output.role = "answer";
    const sent = await sentTransaction(hash, options, context);
    await using client = commandClient(options, context);
    const outcome = await client.outcome(sent, {
      timeoutMs: options.wait === true ? undefined : options.wait,
      signal: context.signal,
    });
    await printOutcome(outcome, context, { format: outputFormat(options, context) });
  },
);

/** Returns the transaction to look for: its hash, or the transaction itself. */
async function sentTransaction(hash: string | undefined, { signed }: OutcomeCommandOptions, context: CommandContext) {
  if ((hash === undefined) === (signed === undefined)) {
    throw new RequestError(
      hash === undefined ? "the transaction is missing" : "the hash and --signed cannot be combined",
      {
        advice: "Use either the hash, as `tradewire submit` prints it, or --signed FILE.",
      },
    );
  }
  if (hash !== undefined) {
    return hash;
  }
  const { request } = await readTransactionInput(signed ?? "", context);
  if (request?.tx === undefined) {
    throw new RequestError("the file contains a command, not a signed transaction", {
      advice: "Use the output of `tradewire sign`: an unsigned command has no outcome.",
    });
  }
  return create(TransactionSchema, request.tx);
}

/**
 * Prints the outcome of a transaction.
 *
 * @throws {@link Reported} if it was not executed completely: with exit code 1, or 3 if that is unknown
 */
export async function printOutcome(
  outcome: Outcome,
  context: OutputContext,
  { format, more = {} }: { readonly format: OutputFormat; readonly more?: object },
): Promise<void> {
  const report = {
    table() {
      context.out.write(outcomeText(outcome));
    },
    object: () => ({ ...more, ...outcome }),
  };
  await printReport(report, format, context);
  if (outcome.status !== "executed") {
    throw new Reported(outcome.status === "unknown" ? EXIT.unknown : EXIT.failure);
  }
}

function outcomeText(outcome: Outcome): string {
  const lines = [`${outcome.txHash}`];
  if (outcome.status === "unknown") {
    lines.push(`unknown: ${outcome.reason}`, ...outcome.lookedAt.map(({ place, found }) => `  ${place}: ${found}`));
  } else {
    const where = outcome.block === undefined ? "" : ` in block ${outcome.block}`;
    const how = outcome.status === "partial" ? "executed in part" : outcome.status;
    const evidence = outcome.evidence === "records" ? ", by its records" : "";
    lines.push(`${how}${where}${evidence}${outcome.status === "executed" ? "" : `: ${outcome.reason}`}`);
  }
  const parts = outcome.status === "unknown" ? "" : partLines(outcome.parts);
  return lines.map((line) => `${printable(line)}\n`).join("") + parts;
}

/** Returns a line for each part of a command that has a name or a record. */
export function partLines(parts: readonly OutcomePart[]): string {
  const lines = parts.flatMap(({ path, brings, id, status, reason }) => {
    const what = [path, id && `${brings} ${id}`].filter((word) => word).join(" ");
    return what === "" ? [] : [`  ${what}: ${status}${reason === undefined ? "" : `, ${reason}`}`];
  });
  return lines.map((line) => `${printable(line)}\n`).join("");
}
