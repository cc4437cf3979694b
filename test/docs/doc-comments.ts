import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** An example of a doc comment. */
export interface Example {
  /** The file of the comment, as a path from the root of the repository. */
  readonly file: string;
  /** The number of the line of its first line of code. */
  readonly line: number;
  readonly code: string;
}

/** What stands behind the tag, to the next one or the end of the comment. */
const EXAMPLE = /^ +\* @example(?:\n(?= +\*)| )(?<code>(?:(?! +\* @| +\*\/).*\n)*)/gm;

/** Read the examples of all doc comments. */
export async function readExamples(root: string): Promise<Example[]> {
  const entries = await readdir(join(root, "src"), { recursive: true });
  const files = entries.filter((name) => name.endsWith(".ts")).map((name) => `src/${name}`);
  const read = files.sort().map(async (file) => examplesOf(file, await readFile(join(root, file), "utf8")));
  return (await Promise.all(read)).flat();
}

function examplesOf(file: string, text: string): Example[] {
  return [...text.matchAll(EXAMPLE)].map(({ index, groups: { code = "" } = {}, 0: all }) => {
    const before = text.slice(0, index) + all.slice(0, all.length - code.length);
    return { file, line: before.split("\n").length, code: code.replaceAll(/^ +\* ?/gm, "") };
  });
}
