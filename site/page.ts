import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { places } from "./pages.js";
import { sourceUrl } from "./repository.js";

const FENCED = /(^```[\s\S]*?^```$)/m;
const LINK = /\]\((?!https?:|mailto:)(?<target>[^)#\s]*)(?<anchor>#[^)]*)?\)/g;
/** The generated tables whose rows the site shows as sections, so that the search and the outline have them. */
const KEYED_TABLE = /^\| (?:Key|Code) \| (.*) \|\n\|[-|]+\n((?:\|.*\n)+)/gm;

/** A link as the site has it: to its own page, to a copied picture, or to the file in the repository. */
function link(page: string, target: string, anchor: string): string {
  const [own = page] = page.split("#");
  const path = target === "" ? own : posix.join(posix.dirname(page), target);
  const part = [...places.keys()].find((key) => key.includes("#") && `${path}${anchor}-`.startsWith(`${key}-`));
  const place = places.get(part ?? path);
  if (target === "" && (part ?? path) === page) {
    return anchor;
  }
  if (place !== undefined) {
    return (
      posix.relative(posix.dirname(places.get(page) ?? ""), place).replace(/^(?!\.)/, "./") +
      (path + anchor === part ? "" : anchor)
    );
  }
  return /\.(png|svg)$/.test(path) ? `./${target}` : sourceUrl(path) + anchor;
}

/** Returns the sections that the rows of a table become: headings with what the row means, and a list of its other cells. */
function sectionsOf(head: string, rows: string): string {
  const titles = head.split(" | ");
  const sections = rows
    .trim()
    .split("\n")
    .map((row) => {
      const [, key = "", ...cells] = row.split(/ ?\| ?/);
      const meaning = cells[titles.indexOf("Meaning")] ?? "";
      const others = titles.map((title, index) =>
        title === "Meaning" || cells[index] === "" ? "" : `- ${title}: ${cells[index]}\n`,
      );
      return `### ${key.replace(/<a .*<\/a>/, "")}\n\n${meaning.replace(/^[a-z]/, (first) => first.toUpperCase()).replace(/[^.]$/, "$&.")}\n\n${others.join("")}`;
    });
  return sections.join("\n");
}

/** Reads a page of the repository, without those of its sections that are pages of the site, or one of these. */
export async function readPage(root: string, page: string): Promise<string> {
  const [path = page, anchor] = page.split("#");
  const [start = "", ...sections] = (await readFile(posix.join(root, path), "utf8")).split(/^(?=## tradewire )/m);
  if (anchor === undefined) {
    return start;
  }
  const section = sections.find((each) => each.startsWith(`## ${anchor.replace("-", " ")}\n`));
  if (section === undefined) {
    throw new Error(`there is no section ${page}`);
  }
  return section.replaceAll(/^#(?=#)/gm, "");
}

/** The first paragraph of a text, as plain text, without a last sentence that leads to what follows. */
export function firstParagraph(text: string): string {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "");
  const paragraph = prose.split(/\n{2,}/).find((part) => /^[A-Za-z`[(]/.test(part)) ?? "";
  return paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*\\]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim()
    .replace(/(?<=[.?!]) [^.?!]*:$/, "")
    .replace(/:$/, ".");
}

/** Returns a page as VitePress reads it. */
export function withFacts(facts: object, text: string): string {
  const lines = Object.entries(facts).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `---\n${lines.join("\n")}\n---\n\n${text}`;
}

/** Returns the Markdown of a page without the facts that VitePress reads. */
export function withoutFacts(page: string): string {
  return page.replace(/^---\n[\s\S]*?\n---\n+/, "");
}

/**
 * Turns a page of the repository into a page of the site: without what only tests read, and with links that the site has.
 */
export function handWrittenPage(page: string, text: string): string {
  const content = text
    .split(FENCED)
    .map((part) =>
      part.startsWith("```")
        ? part
        : part
            .replaceAll(/^<!--[\s\S]*?-->\n*/gm, "")
            .replaceAll(KEYED_TABLE, (_, head, rows) => sectionsOf(head, rows))
            .replaceAll(LINK, (_, target, anchor = "") => `](${link(page, target, anchor)})`),
    )
    .join("")
    .trimStart();
  const title = /^# (.*)$/m.exec(content)?.[1]?.replaceAll("`", "") ?? page;
  return withFacts({ title, description: firstParagraph(content), source: sourceUrl(page) }, content);
}
