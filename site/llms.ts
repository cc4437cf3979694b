import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withoutFacts } from "./page.js";
import { places, sections } from "./pages.js";
import { description } from "./repository.js";

/** What no list says. */
const START = `Install it with \`npm install tradewire\`: ES modules for Node 20.19 or later, with types. \`npx tradewire\` runs the command, and
\`npx tradewire devnode\` a local node. The pages below Library list the exports of each entry point, and link to a page for each export.
[llms-full.txt](/llms-full.txt) has all pages in one file.`;

/** A page as its Markdown says it. */
interface Page {
  readonly title: string;
  readonly description: string;
  readonly content: string;
}

async function readPage(path: string): Promise<Page> {
  const text = await readFile(path, "utf8");
  const fact = (name: string): string => JSON.parse(new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1] ?? '""');
  return {
    title: fact("title"),
    description: fact("description"),
    content: withoutFacts(text),
  };
}

/**
 * Offers the site to language models and other programs: each page as Markdown beside its HTML, llms.txt with a list of
 * the written pages and the entry points, and llms-full.txt with the content of all pages.
 */
export async function writeTextForModels(pages: string, site: string): Promise<void> {
  const names = (await readdir(pages, { recursive: true })).filter((name) => name.endsWith(".md"));
  const read = new Map(
    await Promise.all(names.sort().map(async (name) => [name, await readPage(join(pages, name))] as const)),
  );
  await Promise.all([...read].map(([name, { content }]) => writeFile(join(site, name), content)));
  await cp(join(pages, "pictures"), join(site, "pictures"), { recursive: true });
  const library = names.filter((name) => name.startsWith("library/"));
  const entries = library.filter((name) => read.get(name)?.title.startsWith("tradewire"));
  const parts = [
    ...sections.map(({ title, groups }) => ({
      title,
      pages: groups.flatMap((group) => group.pages.map((page) => places.get(page) ?? page)),
    })),
    { title: "Library", pages: library },
  ];
  const line = (name: string) => `- [${read.get(name)?.title}](/${name}): ${read.get(name)?.description}`;
  const listed = parts.map((part) => (part.pages === library ? { ...part, pages: entries } : part));
  const list = listed.map(({ title, pages: own }) => `## ${title}\n\n${own.map(line).join("\n")}\n`);
  await writeFile(join(site, "llms.txt"), [`# tradewire\n\n> ${description}\n\n${START}\n`, ...list].join("\n"));
  const all = parts.flatMap(({ pages: own }) => own.map((name) => `<!-- /${name} -->\n\n${read.get(name)?.content}`));
  await writeFile(join(site, "llms-full.txt"), all.join("\n"));
}
