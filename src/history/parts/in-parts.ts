import { requireKnown, requireOneOf, requireText, whole } from "../../errors/check-values.js";
import type { SaveOptions } from "../network-history-export.js";

/** The most parts that are fetched at once: each is a stream, and a node allows 250 to an address. */
const MAX_PARALLEL = 100;

/** The names of {@link SaveOptions}. */
const SAVE_OPTIONS = { force: true, verify: true, parallel: true, resume: true } as const;

/**
 * Check how an export is saved, and tell whether that is in parts.
 *
 * @param options how it is saved
 * @returns whether it is
 * @throws {@link RequestError} where an option is unknown or wrong
 */
export function isInParts(options: SaveOptions): boolean {
  requireKnown("options", options, SAVE_OPTIONS);
  const { force, verify, parallel = 1, resume } = options;
  requireOneOf("force", force, [true, false]);
  requireOneOf("verify", verify, ["content", "structure"]);
  if (resume !== undefined) {
    requireText("resume", resume, "parts/");
  }
  return whole("parallel", parallel, MAX_PARALLEL) > 1 || resume !== undefined;
}
