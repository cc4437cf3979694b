// Which lines and branches of each module the quick tests run, as V8 counts them in the sources, in the process of the tests.
//
//   npm run coverage                  all of them, one test file after the other
//   npm run coverage -- data/zip node   the tests of these folders, and these modules
//
// `.coverage/index.html` shows the files line by line.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname, relative } from "node:path";
import { Report } from "c8";

const COUNTS = ".coverage/counts";

const asked = process.argv.slice(2);
rmSync(".coverage", { recursive: true, force: true });
const flags = ["--expose-gc", "--max-semi-space-size=64", "--enable-source-maps"];
const loader = ["--import", "./test/support/jest/load.mjs"];
const { status } = spawnSync(
  process.execPath,
  // One process, as workers that are ended from outside would not write what they have counted.
  [
    ...flags,
    ...loader,
    "node_modules/jest/bin/jest.js",
    "--runInBand",
    "--forceExit",
    ...asked.map((module) => `test/${module}`),
  ],
  { stdio: "inherit", env: { ...process.env, TEST_SOURCES: "1", NODE_V8_COVERAGE: COUNTS } },
);
process.exitCode = status ?? 1;

const report = new Report({
  include: asked.length === 0 ? ["src/**"] : asked.flatMap((module) => [`src/${module}/**`, `src/${module}.ts`]),
  reporter: ["html"],
  reportsDirectory: ".coverage",
  tempDirectory: COUNTS,
  resolve: "",
});
await report.run();
const map = await report.getCoverageMapFromAllCoverageFiles();

const modules = new Map();
for (const file of map.files()) {
  const module = dirname(relative("", file));
  const summary = map.fileCoverageFor(file).toSummary();
  modules.set(module, modules.get(module)?.merge(summary) ?? summary);
}
const percent = ({ pct }) => `${pct} %`;
console.table(
  [...modules]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([module, { lines, branches }]) => ({
      module,
      lines: lines.total,
      "lines run": percent(lines),
      "branches run": percent(branches),
    })),
);
