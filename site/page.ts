import { posix } from "node:path";
import { places } from "./pages.js";
import { sourceUrl } from "./repository.js";

const FENCED = /(^```[\s\S]*?^```$)/m;
const LINK = /\]\((?!https?:|#|mailto:)(?<target>[^)#\s]+)(?<anchor>#[^)]*)?\)/g;

/** A link as the site has it: to its own page, to a copied picture, or to the file in the repository. */
function link(page: string, target: string, anchor: string): string {
  const path = posix.join(posix.dirname(page), target);
  const place = places.get(path);
  if (place !== undefined) {
    return posix.relative(posix.dirname(places.get(page) ?? ""), place).replace(/^(?!\.)/, "./") + anchor;
  }
  return /\.(png|svg)$/.test(path) ? `./${target}` : sourceUrl(path) + anchor;
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
            .replaceAll(LINK, (_, target, anchor = "") => `](${link(page, target, anchor)})`),
    )
    .join("")
    .trimStart();
  const title = /^# (.*)$/m.exec(content)?.[1]?.replaceAll("`", "") ?? page;
  return withFacts({ title, description: firstParagraph(content), source: sourceUrl(page) }, content);
}
