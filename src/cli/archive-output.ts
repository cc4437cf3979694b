import type { SavedArchive } from "../archive/save.js";
import { monotonicMs } from "../runtime/index.js";
import { type CommandContext, json, printable, size } from "./output.js";
import { printTable } from "./terminal.js";

/**
 * Report a saved archive. The path goes to standard output and the rest is a note, or everything to standard
 * output as a JSON object.
 *
 * @param saved the archive
 * @param how `start` is when the work began, in milliseconds of `monotonicMs()`; `asJson` asks for the JSON object
 * @param context the streams to write to
 */
export function tellSaved(
  saved: SavedArchive,
  { start, asJson }: { readonly start: number; readonly asJson: boolean },
  { out, notes, environment }: CommandContext,
): void {
  if (asJson) {
    out.write(json(saved));
    return;
  }
  out.write(`${saved.path}\n`);
  const seconds = (monotonicMs() - start) / 1000;
  notes.write(`${size(saved.bytes)} in ${seconds.toFixed(1)} s, SHA-256 ${saved.sha256}, ${saved.verified} checked\n`);
  printTable(
    ["file", "bytes"],
    saved.entries.map((entry) => [printable(entry.name), String(entry.size)]),
    { out: notes, notes, environment },
  );
}
