// Checks the prose: Markdown, links, spelling and words, of the docs; words also of comments, help texts and messages in src/.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = ["*.md", "docs/**/*.md", "examples/*/README.md"];
const cache = "node_modules/.cache";

const commands = [
  ["markdownlint-cli2", "--config", "test/prose/.markdownlint-cli2.jsonc", ...pages],
  [
    "cspell",
    "lint",
    "--config",
    "test/prose/cspell.json",
    "--no-progress",
    "--no-summary",
    "--show-suggestions",
    ...pages,
  ],
  ["textlint", "--config", "test/prose/textlint.js", ...pages, "src/**/*.ts"],
];

async function run([name, ...args]) {
  const cached = name === "markdownlint-cli2" ? [] : ["--cache", "--cache-location", `${cache}/${name}`];
  const child = spawn("npx", ["--no-install", name, ...args, ...cached], { cwd: root, stdio: "inherit" });
  return new Promise((end) => child.on("close", end));
}

const codes = await Promise.all(commands.map(run));
process.exitCode = codes.some((code) => code !== 0) ? 1 : 0;
