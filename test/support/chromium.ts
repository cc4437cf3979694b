import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Find a Chromium on this machine: `CHROMIUM_PATH`, or one of the usual names on the path. */
export function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const named = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  const given = process.env["CHROMIUM_PATH"];
  return [...(given === undefined ? [] : [given]), ...named].find((path) => existsSync(path));
}
