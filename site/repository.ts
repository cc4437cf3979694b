import { readFileSync } from "node:fs";

const { version, description }: { version: string; description: string } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
);

export { description, version };

/** Where the sources are. */
export const REPOSITORY = "https://github.com/tradewire/tradewire";

/** Returns the address of a file of the repository, as the documented version has it. */
export function sourceUrl(path: string): string {
  return `${REPOSITORY}/blob/v${version}/${path}`;
}
