import { readFileSync } from "node:fs";

/** A group of pages in the navigation. */
export interface Group {
  readonly title: string;
  /** Paths from the root of the repository; with an anchor, one section of a file. */
  readonly pages: readonly string[];
}

/** A part of the navigation, by what a reader wants. */
export interface Section {
  readonly title: string;
  readonly groups: readonly Group[];
}

const docs = (...names: string[]): readonly string[] => names.map((name) => `docs/${name}.md`);

const reference = readFileSync(new URL("../docs/command.md", import.meta.url), "utf8");
const commands = [...reference.matchAll(/^## tradewire (.*)$/gm)].map(
  ([, name]) => `docs/command.md#tradewire-${name}`,
);

/** All pages that are written by hand, in the order of the navigation. The build fails if a page of docs/ is missing. */
export const sections: readonly Section[] = [
  {
    title: "Tutorials",
    groups: [{ title: "Tutorials", pages: docs("getting-started", "tutorial-postgres", "tutorial-bot") }],
  },
  {
    title: "How-to guides",
    groups: [
      { title: "How-to guides", pages: docs("guide") },
      { title: "Load history", pages: docs("exports") },
      {
        title: "Fill tables",
        pages: docs("sync", "queries", "sync-files", "sync-queue"),
      },
      { title: "Trade", pages: docs("transactions", "intents", "leases", "guards") },
      { title: "Watch", pages: docs("live", "state") },
      { title: "Call any method", pages: docs("call", "listings", "transport") },
      { title: "Run and test", pages: docs("nodes", "observability", "testing") },
    ],
  },
  {
    title: "Reference",
    groups: [
      {
        title: "Reference",
        pages: docs("command", "configuration", "errors", "tables"),
      },
      { title: "Commands", pages: commands },
      { title: "The local node", pages: docs("devnode") },
    ],
  },
  {
    title: "Explanation",
    groups: [
      { title: "The network", pages: docs("network-history", "values", "transactions-explained") },
      {
        title: "Explanation",
        pages: [
          ...docs("architecture", "differences", "security", "dependencies"),
          "docs/bench/README.md",
          "docs/bench/limits.md",
        ],
      },
      { title: "Project", pages: ["CONTRIBUTING.md", "CHANGELOG.md"] },
    ],
  },
];

/** Where the site has each page, by its path in the repository. */
export const places: ReadonlyMap<string, string> = new Map([
  ["README.md", "index.md"],
  ...sections
    .flatMap(({ groups }) => groups.flatMap(({ pages }) => pages))
    .map((page) => [page, placeOf(page)] as const),
]);

function placeOf(page: string): string {
  const path = page
    .replace(/^docs\//, "")
    .replace(/README\.md$/, "index.md")
    .replace(/\.md#tradewire-(.*)/, "/$1.md");
  return page.startsWith("docs/") ? path : path.toLowerCase();
}
