import { posix } from "node:path";
import { firstParagraph, withFacts } from "./page.js";

/** The parts of a description that are no headings, so that the outline and the search have the exports' own names. */
const PARTS =
  "Parameters|Type Parameters|Returns|Throws|Examples?|Extends|Extended by|Implements|Implementation of|See|Default Value|Call Signature|Get Signature|Set Signature|Union Members|Type Literal|Type Declaration";
const PART = new RegExp(`^#{2,6} (${PARTS})$`, "gm");
const LIST = /^\*\*(Extends|Extended by|Implements)\*\*\n\n((?:- .*\n)+)/gm;
const PROVENANCE = /^#{2,6} (?:Inherited from|Overrides)\n\n(?:.*\n)\n?(?=\n|$)/gm;
const RE_EXPORTS = /^## References\n\n((?:### .*\n\nRe-exports .*\n*)+)/gm;
const THROWS = /(?:^#{2,6} Throws\n\n(?:(?!#{2,6} ).*\n)*)+/gm;

/** The groups of what `tradewire` exports, by the beginnings of the paths of its sources. An export without one fails the build. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Start: ["client/", "wire/config/"],
  Export: ["data/archive/", "data/csv/", "data/history/", "data/ledger/", "data/schema/", "data/zip/", "base/file/"],
  Trade: [
    ...[
      "transaction/",
      "intent/",
      "lease/",
      "guard/",
      "signer/",
      "market/decimal",
      "market/field-units",
      "market/market-units",
    ],
    ...["live/execution", "live/outcomes", "live/transaction-outcome"],
  ].map((path) => `trade/${path}`),
  Watch: [
    ...["live/event", "live/follow-table", "live/live-events", "live/transaction-results"],
    ...["market/account", "market/book", "market/order-book", "market/record-listings"],
  ].map((path) => `trade/${path}`),
  Call: ["data/listing/", "wire/http-rule/", "wire/json/", "wire/transport/", "base/input/", "base/profile"],
  Errors: ["base/errors/"],
};

/** How the list of the entry points begins. */
const START = `Start with [createClient](tradewire/createClient.md). The exports of [tradewire](tradewire.md) by purpose:
${Object.keys(GROUPS)
  .map((title) => `[${title}](tradewire.md#${title.toLowerCase()})`)
  .join(", ")}.`;

/** Returns the page of an entry point with a table of its exports for each group, functions first. */
function listByGroup(text: string, texts: ReadonlyMap<string, string>): string {
  const rows = [...text.matchAll(/^\| \[.*\]\((tradewire\/.*?)\) \| .*\n/gm)].map(([row, name = ""]) => {
    const page = texts.get(name) ?? "";
    const source = /^Defined in: \[src\/(.*?):/m.exec(page)?.[1] ?? "";
    const group = Object.keys(GROUPS).find((title) => GROUPS[title]?.some((path) => source.startsWith(path)));
    if (group === undefined) {
      throw new Error(`site/library-page.ts has no group for ${name} of src/${source}`);
    }
    return { row, group, isFunction: page.startsWith("# Function") };
  });
  const tables = Object.keys(GROUPS).map((title) => {
    const own = rows.filter(({ group }) => group === title);
    const sorted = [...own.filter(({ isFunction }) => isFunction), ...own.filter(({ isFunction }) => !isFunction)];
    return `## ${title}\n\n| Export | Description |\n| ------ | ------ |\n${sorted.map(({ row }) => row).join("")}`;
  });
  return text.slice(0, text.indexOf("\n## ") + 1) + tables.join("\n");
}

/** One list of what is thrown, in the place of one section for each. */
function listThrows(sections: string): string {
  const items = sections
    .split(/^#{2,6} Throws\n/m)
    .map((item) => item.trim().replaceAll(/\s*\n\s*/g, " "))
    .filter((item) => item !== "");
  return `**Throws**\n\n${items.map((item) => `- ${item}`).join("\n")}\n\n`;
}

/** What a page says first about its export. */
function descriptionOf(text: string): string {
  return firstParagraph(text.replaceAll(/^(?:Defined in: |Re-exports ).*$/gm, ""));
}

/** One table of re-exported names with their descriptions, in the place of one section for each. */
function listReExports(name: string, sections: string, texts: ReadonlyMap<string, string>): string {
  const links = [...sections.matchAll(/^Re-exports (\[.*\]\((.*)\))$/gm)];
  const rows = links.map(([, link, target = ""]) => {
    const text = texts.get(posix.join(posix.dirname(name), target)) ?? "";
    return `| ${link} | ${descriptionOf(text).replaceAll(/[|<]/g, "\\$&")} |\n`;
  });
  return `## Re-exports\n\n| Export | Description |\n| ------ | ------ |\n${rows.join("")}\n`;
}

/** Turns what TypeDoc writes about an export into a page of the site. */
export function libraryPage(name: string, texts: ReadonlyMap<string, string>): string {
  const written = texts.get(name) ?? "";
  const text = name === "tradewire.md" ? listByGroup(written, texts) : written.replace(/^## Modules$/m, START);
  const [, kind, title = name] = /^# (?:(.*): )?([^<&\n]*)/m.exec(text.replaceAll("\\", "")) ?? [];
  const content = text
    .replaceAll(/^\*\*\*\n\n/gm, "")
    .replaceAll(PROVENANCE, "")
    .replaceAll(/^Defined in: \[src\/[^\]]*\]\(([^)]*)\)\n/gm, "[Source]($1)\n")
    .replaceAll(RE_EXPORTS, (_, sections) => listReExports(name, sections, texts))
    .replaceAll(THROWS, listThrows)
    .replaceAll(PART, "**$1**")
    .replaceAll(
      LIST,
      (_, part, list: string) => `**${part}** ${list.replaceAll(/^- /gm, "").trim().split("\n").join(", ")}\n`,
    );
  const described = descriptionOf(text) || `${title} of tradewire.`;
  if (kind === undefined) {
    return withFacts({ title, description: described }, content);
  }
  const entry = posix.dirname(name);
  const opening = `# ${title}\n\n${kind} of [\`${entry}\`](../${posix.basename(entry)}.md)`;
  const shown = content.replace(/^# .*\n\n(?:(\[Source\].*)\n\n)?/, (_, source) =>
    source === undefined ? `${opening}\n\n` : `${opening} · ${source}\n\n`,
  );
  // The sidebar has entry points only, so that VitePress takes its first page for the next one.
  return withFacts({ title, description: described, prev: false, next: false }, shown);
}
