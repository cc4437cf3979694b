import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Write a file that only its owner may read, as key files have to be. */
export async function writePrivately(folder: string, name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
}
