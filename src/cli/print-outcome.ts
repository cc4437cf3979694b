import type { Outcome } from "../live/outcome.js";
import { type CommandContext, EXIT, json, printable, Reported } from "./output.js";

/**
 * Print what became of a transaction.
 *
 * @param outcome what became of it
 * @param context standard output
 * @param options `json`: whether it is one JSON object; `more`: what that has beside the outcome
 * @throws {@link Reported} where it was not carried out as a whole: with exit code 1, or 3 where that is not known
 */
export function printOutcome(
  outcome: Outcome,
  { out }: Pick<CommandContext, "out">,
  { json: asJson = false, more = {} }: { readonly json?: boolean | undefined; readonly more?: object } = {},
): void {
  out.write(asJson ? json({ ...more, ...outcome }) : outcomeText(outcome));
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
    for (const { path, brings, id, status, reason } of outcome.parts) {
      const words = [path, id && `${brings} ${id}`];
      const what = words.filter((word) => word).join(" ");
      if (what !== "") {
        lines.push(`  ${what}: ${status}${reason === undefined ? "" : `, ${reason}`}`);
      }
    }
  }
  return lines.map((line) => `${printable(line)}\n`).join("");
}
