import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { runCommand } from "../src/cli/program.js";
import { startDevnode } from "../src/node/index.js";
import { handWrittenPage, withFacts, withoutFacts } from "./page.js";
import { description, version } from "./repository.js";

/** Returns a section of the README, without its heading. */
function section(text: string, heading: string): string {
  const [, found] = text.split(`\n## ${heading}\n`);
  if (found === undefined) {
    throw new Error(`the README has no section "${heading}"`);
  }
  return found.split(/^## /m)[0] ?? "";
}

/** The commands that the first page shows, as they are typed. */
const SHOWN = [
  "trades --market M0 --limit 5 \\\n    --columns price,size,aggressor",
  "orders --market M0 --limit 4 \\\n    --columns side,price,remaining,status",
];
/** The width of its terminal, in characters, which fits on phones. */
const COLUMNS = 44;

/** Returns what a terminal shows of these commands. They run now, with a local node. */
async function readTerminal(): Promise<string> {
  const node = await startDevnode();
  const environment = { TRADEWIRE_GRPC_URL: node.grpcUrl, TRADEWIRE_REST_URL: node.restUrl, NO_COLOR: "1" };
  let shown = "";
  for (const line of SHOWN) {
    const out = Object.assign(new PassThrough(), { isTTY: true, columns: COLUMNS });
    const args = line.split(/[\s\\]+/);
    const { signal } = new AbortController();
    await runCommand({ args, version, in: new PassThrough(), out, err: new PassThrough(), environment, signal });
    shown += `$ tradewire ${line}\n${out.read()}`;
  }
  await node.close();
  return shown.trimEnd();
}

/** Writes the first page of the site, with the README's comparison and its first program. */
export async function writeLanding(root: string, pages: string): Promise<void> {
  const readme = await readFile(join(root, "README.md"), "utf8");
  const facts = {
    title: "tradewire",
    titleTemplate: "Network history and trading on Vega Protocol nodes",
    description,
    layout: "home",
    hero: {
      name: "tradewire",
      text: "No row goes missing unnoticed. No order is executed twice.",
      tagline:
        "Load the history of Vega Protocol v0.78 networks and their forks, and trade on them: a TypeScript library, a command, and a local node for tests.",
      actions: [
        { theme: "brand", text: "Get started", link: "/getting-started" },
        { theme: "alt", text: "Guide", link: "/guide" },
        { theme: "alt", text: "Commands", link: "/command" },
      ],
    },
    terminal: await readTerminal(),
    features: [
      {
        title: "Load history",
        details:
          "Export tables of network history, checked to the last row, into files, PostgreSQL, DuckDB or Parquet.",
        link: "/exports",
        linkText: "Export network history",
      },
      {
        title: "Trade",
        details: "Sign transactions, send each once, and learn whether it was executed, even after a crash.",
        link: "/intents",
        linkText: "Submit orders",
      },
      {
        title: "Call any method",
        details: "All 150 methods of the node, typed, with one interface over gRPC and over REST.",
        link: "/call",
        linkText: "Call the node",
      },
    ],
  };
  const content = handWrittenPage(
    "README.md",
    ["Why", "Install", "Example"].map((heading) => `## ${heading}\n${section(readme, heading)}`).join(""),
  );
  await writeFile(join(pages, "index.md"), withFacts(facts, withoutFacts(content)));
}
