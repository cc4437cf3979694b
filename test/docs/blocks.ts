import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A block of code of the README or of a page of docs/. */
export interface Block {
  /** The page, as a path from the root of the repository. */
  readonly page: string;
  /** The number of the line of its first line of code. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** What the comment before it says, which is not shown to readers of the page; empty where there is none. */
  readonly note: string;
}

/** A comment that is not shown, an empty line, and the block that it belongs to. */
const BLOCK = /(?:^<!-- (?<note>.*) -->\n\n?)?^```(?<language>[a-z]+)\n(?<code>(?:.*\n)*?)^```$/gm;

/** Read all blocks of code of the README and of docs/. */
export async function readBlocks(root: string): Promise<Block[]> {
  const pages = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md")).sort();
  const read = ["README.md", ...pages.map((name) => `docs/${name}`)].map(async (page) =>
    blocksOf(page, await readFile(join(root, page), "utf8")),
  );
  return (await Promise.all(read)).flat();
}

function blocksOf(page: string, text: string): Block[] {
  return [...text.matchAll(BLOCK)].map(({ index, groups: { note = "", language = "", code = "" } = {}, 0: all }) => {
    const before = text.slice(0, index) + all.slice(0, all.lastIndexOf(code));
    return { page, line: before.split("\n").length, language, code, note };
  });
}
