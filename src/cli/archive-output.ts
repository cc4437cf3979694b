import type { SavedArchive } from "../archive/save.js";
import { type CommandContext, json, printable, size, table } from "./output.js";

/**
 * Tell what was saved: the path on standard output and the rest on the other, or all of it as a JSON object.
 *
 * @param how `start` is when the work began, as `performance.now()` gave it
 */
export function tellSaved(
  saved: SavedArchive,
  { start, asJson }: { readonly start: number; readonly asJson: boolean },
  { out, err }: CommandContext,
): void {
  if (asJson) {
    out.write(json(saved));
    return;
  }
  out.write(`${saved.path}\n`);
  const seconds = (performance.now() - start) / 1000;
  err.write(`${size(saved.bytes)} in ${seconds.toFixed(1)} s, SHA-256 ${saved.sha256}\n`);
  err.write(
    table(
      ["file", "bytes"],
      saved.entries.map((entry) => [printable(entry.name), String(entry.size)]),
    ),
  );
}
