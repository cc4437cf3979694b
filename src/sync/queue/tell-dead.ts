import { Code } from "@connectrpc/connect";
import { SinkError } from "../../errors/index.js";
import type { Tell } from "../tell.js";
import { MAX_DEAD, type Present } from "./present.js";

/**
 * Stop a planner where too many units were given up.
 *
 * @param present what is in the queue
 * @throws {@link SinkError} with the failure of the first one
 */
export function requireFewDead({ dead }: Present): void {
  const [first] = dead;
  if (first !== undefined && dead.length >= MAX_DEAD) {
    throw new SinkError(`${MAX_DEAD} units were tried too often, the first one for: ${first.error}`, {
      code: Code.FailedPrecondition,
      advice: `It is not the units that are wrong. ${first.advice} Then put them back with --retry-failed.`,
    });
  }
}

/**
 * Tell of the dead letters that were not told of yet.
 *
 * @param present what is in the queue
 * @param told the jobs that were told of; it grows
 * @param tell tells them
 */
export function tellDead({ dead }: Present, told: Set<string>, tell: Tell): void {
  for (const { id, unit, error, advice, code, tries } of dead) {
    if (!told.has(id)) {
      told.add(id);
      tell({ case: "failed", unit, error: new SinkError(error, { code, advice }), attempt: tries });
    }
  }
}
