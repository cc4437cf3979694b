import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "@jest/globals";
import { startDevnode } from "tradewire/devnode";
import { start } from "../support/command-process.js";
import { installedFolder } from "../support/example.js";
import { startPostgres } from "../support/postgres.js";
import { type Block, readBlocks } from "./blocks.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What the note of a block says. */
const NOTE = /^(?:given: (?<names>[\w, ]+))?(?:; )?(?<how>runs on|run twice)?$/;
const RUN_ELSEWHERE = "run by a test of its own";

const programs = (await readBlocks(root)).filter(
  ({ language, note }) => ["ts", "js"].includes(language) && note !== RUN_ELSEWHERE,
);
let problems: string;
let ends = new Map<string, string>();

beforeAll(async () => {
  await using node = await startDevnode({ blockMs: 200, activity: 5 });
  await using postgres = await startPostgres();
  const database = await postgres.createDatabase();
  const there = (code: string) =>
    code
      .replaceAll("http://127.0.0.1:3007", node.grpcUrl)
      .replaceAll("http://127.0.0.1:3008", node.restUrl)
      .replaceAll(/postgres:\/\/\w+@db\.example\/history/g, database)
      .replaceAll("3_000_000", "5000")
      .replaceAll("127.0.0.1:9464", "127.0.0.1:0");
  const folder = await installedFolder("programs");
  try {
    await cp(join(root, "test/docs/run-programs.mjs"), join(folder, "run-programs.mjs"));
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const given = await readFile(join(root, "test/docs/given.js"), "utf8");
    await writeFile(join(folder, "given.js"), there(given));
    await Promise.all(programs.map((block) => writeFile(join(folder, `${nameOf(block)}.ts`), there(moduleOf(block)))));
    problems = await compile(folder);
    if (problems === "") {
      await writeFile(join(folder, "trader.key"), `${"01".repeat(32)}\n`, { mode: 0o600 });
      await Promise.all(
        programs.filter(isPlain).map((block) => writeFile(join(folder, fileOf(block)), there(moduleOf(block)))),
      );
      const files = programs.flatMap((block) => {
        const { how } = noteOf(block);
        const file = fileOf(block);
        return how === "run twice" ? [file, `${file}?again`] : how === "runs on" ? [`${file}:on`] : [file];
      });
      const environment = { TRADEWIRE_GRPC_URL: node.grpcUrl, TRADEWIRE_REST_URL: node.restUrl };
      const { out } = await start(process.execPath, ["run-programs.mjs", ...files], folder, environment).ended;
      ends = new Map(
        out
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
          .map(({ file, end }) => [file, end]),
      );
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}, 900_000);

/** Whether a program is plain JavaScript, which is run as it stands. */
const isPlain = ({ language }: Block) => language === "js";
const fileOf = (block: Block) => `built/${nameOf(block)}.js`;
const nameOf = ({ page, line }: Block) => `${page.replaceAll("/", "-")}-${line}`;

function noteOf({ page, line, note }: Block) {
  const groups = NOTE.exec(note)?.groups;
  if (groups === undefined) {
    throw new Error(`${page}:${line}: the comment before the block, "${note}", is none that is known`);
  }
  return { names: groups["names"] ?? "", how: groups["how"] };
}

/** A block as a module. Its lines have the numbers that they have on its page. */
function moduleOf(block: Block): string {
  const { names } = noteOf(block);
  const given = names === "" ? "export {};" : `import { ${names} } from "./given.js";`;
  return `${given}${"\n".repeat(block.line - 1)}${block.code}`;
}

/** Compile them as strictly as the library itself, but that fragments need not use what they make. */
async function compile(folder: string): Promise<string> {
  const compilerOptions = {
    ...{
      target: "es2022",
      noEmit: false,
      noEmitOnError: true,
      declaration: false,
      allowJs: true,
      checkJs: true,
      rootDir: ".",
    },
    ...{ noUnusedLocals: false, noPropertyAccessFromIndexSignature: false, paths: {} },
  };
  const config = { extends: "../../tsconfig.json", compilerOptions, include: ["*.ts", "given.js"], exclude: [] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { out } = await start(join(root, "node_modules/.bin/tsc"), ["--project", folder, "--outDir", "built"], folder)
    .ended;
  return out;
}

it("is on every page that tells about the library", () => {
  expect(new Set(programs.map(({ page }) => page)).size).toBeGreaterThan(15);
});

it("compiles", () => {
  expect(problems).toBe("");
});

it.each(programs.map((block) => [`${block.page}:${block.line}`, block] as const))("%s runs", (_, block) => {
  const { how } = noteOf(block);
  expect(ends.get(fileOf(block))).toBe(how === "runs on" ? how : "ended");
  if (how === "run twice") {
    expect(ends.get(`${fileOf(block)}?again`)).toBe("ended");
  }
});
