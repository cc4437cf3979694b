// Mutation testing of the rules that decide about money and data. A mutant that survives is a rule that no test holds.
//
//   npm run mutate                          all folders below; it takes hours
//   npm run mutate -- data/zip base/file            some of them
//   npm run mutate -- src/data/zip/archive-end.ts        some files
//   npm run mutate -- src/data/zip/archive-end.ts:9-20   some lines
//
// The survivors are printed as they are found; the table of scores comes last.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { Stryker } from "@stryker-mutator/core";

process.env["TEST_SOURCES"] = "1";

/** The folders of src/, and the tests of files without a test of their own. */
const FOLDERS = {
  "wire/transport/layers": "wire/transport/layers/*",
  "data/zip": "data/{zip/archive-end,archive/{doors,limits,open-archive,save-archive}}",
  "data/archive": "data/archive/{doors,limits,merge-archives,export-names,open-archive,save-archive}",
  "trade/transaction": "trade/transaction/*",
  "base/file": "base/file/*",
};

/**
 * The tests that must kill a file's mutants, and how long they may take: those of the file and of its folder, which
 * are quick. Others pass there too, but would take minutes a mutant. Tests of a file that are too many for one stand
 * beside it with a word before `.test.ts`, such as `atomic-file.names.test.ts`.
 */
function testsOf(file, folder) {
  const own = file.replace(/^src\/(.*)\.ts(:.*)?$/, "$1");
  const tests = [own, dirname(own)].filter((name) => existsSync(`test/${name}.test.ts`));
  return tests.length === 0
    ? { tests: [FOLDERS[folder]], testMs: 15_000, moreMs: 20_000 }
    : { tests, testMs: 4000, moreMs: 6000 };
}

/** Score one file, or lines of it. */
async function mutate(file, folder) {
  const { tests, testMs, moreMs } = testsOf(file, folder);
  const results = await new Stryker({
    mutate: [file],
    // What an error says is held by tests where it matters; a text that differs is not a rule that is broken.
    mutator: { excludedMutations: ["StringLiteral"] },
    testRunner: "jest",
    disableTypeChecks: false, // The tests are run without a check of types.
    testRunnerNodeArgs: ["--expose-gc", "--import", "./test/support/jest/load.mjs"],
    jest: {
      configFile: "test/jest.config.mjs",
      config: {
        testMatch: tests.map((name) => `<rootDir>/test/${name}{,.*}.test.ts`),
        testEnvironment: "./test/mutation/environment.cjs",
        testTimeout: testMs,
      },
      enableFindRelatedTests: false,
    },
    coverageAnalysis: "perTest",
    ignoreStatic: true,
    timeoutMS: moreMs,
    dryRunTimeoutMinutes: 15,
    concurrency: Number(process.env.MUTATE_CONCURRENCY ?? 2),
    tempDirName: ".stryker-tmp",
    reporters: ["clear-text"],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
  }).runMutationTest();
  const count = (...statuses) => results.filter(({ status }) => statuses.includes(status)).length;
  return {
    file,
    killed: count("Killed"),
    "without end": count("Timeout"),
    survived: count("Survived"),
    "never run": count("NoCoverage"),
  };
}

/** The files of a folder that hold code. AssemblyScript is not among them: tests run it as WebAssembly, as compiled. */
const filesOf = (folder) =>
  readdirSync(`src/${folder}`, { recursive: true })
    .filter((name) => name.endsWith(".ts") && !name.startsWith("assembly/"))
    .map((name) => join("src", folder, name))
    .sort();

/** The numbers of some files as one row. */
function sum(name, rows) {
  const total = { file: name };
  for (const { file, ...counts } of rows) {
    for (const [key, count] of Object.entries(counts)) {
      total[key] = (total[key] ?? 0) + count;
    }
  }
  return total;
}

function withScore(row) {
  const killed = row.killed + row["without end"];
  return { ...row, score: `${((100 * killed) / (killed + row.survived + row["never run"])).toFixed(1)} %` };
}

const asked = process.argv.slice(2);
const scores = [];
for (const folder of Object.keys(FOLDERS)) {
  const isAll = asked.length === 0 || asked.includes(folder);
  const files = isAll ? filesOf(folder) : asked.filter((name) => name.startsWith(`src/${folder}/`));
  const rows = [];
  for (const file of files) {
    rows.push(await mutate(file, folder));
  }
  scores.push(...rows, ...(isAll ? [sum(`src/${folder}`, rows)] : []));
}
if (scores.length === 0) {
  console.error(`Give one of ${Object.keys(FOLDERS).join(", ")}, or files of theirs.`);
  process.exitCode = 2;
} else {
  console.table(scores.map(withScore));
}
