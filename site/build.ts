// Builds the site in out/site: the doc comments and the pages of docs/ become Markdown in out/pages, which VitePress builds.
// Every page is offered as this Markdown, too. A warning is an error.
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Application, TypeDocReader } from "typedoc";
import { build } from "vitepress";
import { findDeadLinks } from "./dead-links.js";
import { writeLanding } from "./landing.js";
import { libraryPage } from "./library-page.js";
import { writeTextForModels } from "./llms.js";
import { handWrittenPage, readPage } from "./page.js";
import { places } from "./pages.js";
import { sourceUrl } from "./repository.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const pages = join(root, "out/pages");
const site = join(root, "out/site");

/** Writes a page for each export, from the doc comments. */
async function writeLibrary(): Promise<void> {
  const options = { options: join(root, "site/typedoc.json"), sourceLinkTemplate: sourceUrl("src/{path}#L{line}") };
  const app = await Application.bootstrapWithPlugins(options, [new TypeDocReader()]);
  const project = await app.convert();
  if (project === undefined) {
    throw new Error("TypeDoc cannot read the sources");
  }
  app.validate(project);
  await app.generateOutputs(project);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) {
    throw new Error("TypeDoc has warnings");
  }
  const library = join(pages, "library");
  const names = (await readdir(library, { recursive: true })).filter((name) => name.endsWith(".md"));
  const texts = new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(library, name), "utf8")] as const)),
  );
  await Promise.all(names.map((name) => writeFile(join(library, name), libraryPage(name, texts))));
}

/** Writes the pages that are written by hand, and copies their pictures. */
async function writePages(): Promise<void> {
  const written = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md"));
  const missing = written.filter((name) => !places.has(`docs/${name}`));
  if (missing.length > 0) {
    throw new Error(`site/pages.ts does not have these pages of docs/: ${missing.join(", ")}`);
  }
  const isPicture = (path: string) => !/\.[a-z]+$/.test(path) || /\.(png|svg)$/.test(path);
  await cp(join(root, "docs"), pages, { recursive: true, filter: isPicture });
  for (const [page, place] of places) {
    if (page !== "README.md") {
      const path = join(pages, place);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, handWrittenPage(page, await readPage(root, page)));
    }
  }
  await writeLanding(root, pages);
}

await rm(join(root, "out"), { recursive: true, force: true });
await writeLibrary();
await writePages();
await build(join(root, "site"));
await writeTextForModels(pages, site);
const dead = await findDeadLinks(site);
if (dead.length > 0) {
  throw new Error(`dead links:\n${dead.join("\n")}`);
}
