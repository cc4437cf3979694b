import { requireFunction, requireKnown, requireOneOf, whole } from "../errors/check-values.js";
import { CALL_OPTIONS, checkCallOptions } from "../given/call-options.js";
import type { ExportOptions } from "./network-history-export.js";

/** The names of {@link ExportOptions}. */
const EXPORT_OPTIONS = {
  ...CALL_OPTIONS,
  onProgress: true,
  extensions: true,
  check: true,
  snap: true,
  maxRowBytes: true,
} as const;

/**
 * Check how an export is to be made.
 *
 * @param options how
 * @throws {@link RequestError} where an option is unknown or wrong
 */
export function checkExportOptions(options: ExportOptions): void {
  requireKnown("options", options, EXPORT_OPTIONS);
  checkCallOptions(options);
  const { onProgress, extensions, check, snap, maxRowBytes } = options;
  requireFunction("onProgress", onProgress);
  requireOneOf("extensions", extensions, ["required", "optional"]);
  requireOneOf("check", check, [true, false]);
  requireOneOf("snap", snap, [true, false]);
  if (maxRowBytes !== undefined) {
    whole("maxRowBytes", maxRowBytes, Number.MAX_SAFE_INTEGER);
  }
}
