import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createLogger } from "vite";
import { type DefaultTheme, defineConfig } from "vitepress";
import { readPage } from "../page.js";
import { places, type Section, sections } from "../pages.js";
import { description, REPOSITORY, version } from "../repository.js";
import { createTypesTransformer } from "../twoslash.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const types = await createTypesTransformer(root);

/** The anchors of headings, as GitHub makes them. */
const slugify = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");

async function titleOf(page: string): Promise<string> {
  const text = await readPage(root, page);
  return /^# (?:tradewire (?=[a-z]))?([^:\n]*)/m.exec(text)?.[1]?.replaceAll("`", "") ?? page;
}

const linkTo = (page: string) => `/${(places.get(page) ?? page).replace(/(?:index)?\.md$/, "")}`;

async function sidebarOf({ title, groups }: Section): Promise<DefaultTheme.SidebarItem> {
  const items = await Promise.all(
    groups.map(async (group) => {
      const pages = await Promise.all(
        group.pages.map(async (page) => ({ text: await titleOf(page), link: linkTo(page) })),
      );
      return group.title === title ? pages : [{ text: group.title, collapsed: true, items: pages }];
    }),
  );
  return { text: title, items: items.flat() };
}

/** The letter t on the theme's color, so that browsers do not request a file that is not there. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='6' fill='%233451b2'/%3E%3Cpath d='M16 6v14a5 5 0 0 0 5 5h2M9 12h14' fill='none' stroke='white' stroke-width='4'/%3E%3C/svg%3E";

/** The package's entry points, as TypeDoc lists them. */
const entries = (await readFile(`${root}out/pages/library/index.md`, "utf8")).matchAll(/^\| \[(.*?)\]\((.*?)\.md\)/gm);
const library = {
  text: "Library",
  link: "/library/",
  items: [...entries].map(([, text, path]) => ({ text, link: `/library/${path}` })),
};

/** The navigation marks the section of each page. */
const nav = sections.map(({ title, groups }) => {
  const links = groups.flatMap(({ pages }) => pages).map(linkTo);
  return { text: title.replace("How-to g", "G"), link: links[0] ?? "/", activeMatch: `^(?:${links.join("|")})$` };
});

/** The sidebar of each page is that of its section: each load builds the whole sidebar, which takes long on phones. */
const sidebar = Object.fromEntries(
  await Promise.all(
    sections.map(async (section) => {
      const items = [
        await sidebarOf(section),
        ...(section.title === "Reference" ? [{ ...library, collapsed: true }] : []),
      ];
      return section.groups.flatMap(({ pages }) => pages).map((page) => [linkTo(page), items] as const);
    }),
  ).then((pages) => [...pages.flat(), ["/library/", [library]] as const]),
);

export default defineConfig({
  title: "tradewire",
  description,
  lang: "en",
  // Otherwise each load computes the styles of the whole page twice more, which takes long on phones.
  appearance: { disableTransition: false },
  head: [
    ["link", { rel: "icon", href: icon }],
    ["meta", { property: "og:site_name", content: "tradewire" }],
    ["meta", { property: "og:type", content: "website" }],
  ],
  transformHead: ({ page, title, description: content }) =>
    page === "404.md"
      ? []
      : [
          ["meta", { property: "og:title", content: title }],
          ["meta", { property: "og:description", content }],
          ["link", { rel: "alternate", type: "text/markdown", href: `/${page}` }],
        ],
  srcDir: "../out/pages",
  outDir: "../out/site",
  cacheDir: "../node_modules/.cache/vitepress",
  markdown: {
    attrs: false,
    emoji: false,
    anchor: { slugify },
    image: { lazyLoading: true },
    codeTransformers: [types],
  },
  vite: {
    customLogger: {
      ...createLogger(),
      warn(message) {
        throw new Error(message);
      },
    },
    build: { chunkSizeWarningLimit: 16_000 },
  },
  themeConfig: {
    nav: [
      ...nav.toSpliced(-1, 0, { text: "Library", link: "/library/", activeMatch: "^/library/" }),
      { text: `v${version}`, link: "/changelog" },
    ],
    sidebar,
    outline: { level: [2, 3] },
    notFound: { quote: "This page does not exist. Search for it, or start from the home page.", linkText: "Home" },
    search: {
      provider: "local",
      options: {
        // What is searched needs no colours.
        _render: (text, environment, markdown) =>
          markdown.renderAsync(text.replaceAll(/^```[a-z]+$/gm, "```txt"), environment),
        miniSearch: {
          searchOptions: {
            fuzzy: (term: string) => term.length > 4 && 0.2,
            // First the guides, but an export's own page before the pages that use it; last the lists and what contributors read.
            boostDocument(id: string, term: string) {
              if (id.startsWith("/library/")) {
                return id.toLowerCase().includes(`/${term}.html`) ? 2 : 1;
              }
              return /^\/(?:architecture|bench|changelog|contributing|dependencies|guide|project|reference)/.test(id)
                ? 1
                : 3;
            },
          },
        },
      },
    },
    socialLinks: [{ icon: "github", link: REPOSITORY, ariaLabel: "Sources" }],
  },
});
