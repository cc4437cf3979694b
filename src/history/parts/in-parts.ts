import { requireText, whole } from "../../errors/check-values.js";
import type { SaveOptions } from "../network-history-export.js";

/** The most parts that are fetched at once: each is a stream, and a node allows 250 to an address. */
const MAX_PARALLEL = 100;

/**
 * Tell whether an export is saved in parts.
 *
 * @param options how it is saved
 * @returns whether it is
 * @throws {@link RequestError} where `parallel` or `resume` is wrong
 */
export function isInParts({ parallel = 1, resume }: Pick<SaveOptions, "parallel" | "resume">): boolean {
  if (resume !== undefined) {
    requireText("resume", resume, "parts/");
  }
  return whole("parallel", parallel, MAX_PARALLEL) > 1 || resume !== undefined;
}
