// Mutation testing of the rules that decide about money and data. A mutant that survives is a rule that no test holds.
//
//   npm run mutate                          all folders below; it takes hours
//   npm run mutate -- zip transaction       some of them
//   npm run mutate -- src/zip/end.ts        some of their files
//
// The survivors are printed as they are found; the table of scores comes last.
import { Stryker } from "@stryker-mutator/core";

/** The folders of src/, and the tests that must kill their mutants. Others pass there too, but would take minutes a mutant. */
const TESTS = {
  "transport/layers": "transport/{layers/*,close,composition,headers,hooks,left,limits}",
  zip: "{zip/end,archive/{doors,limits,open,save,verify}}",
  archive: "archive/{doors,limits,merge,names,open,save,verify}",
  transaction: "transaction/*",
};
const folders = Object.keys(TESTS);

/** Score one folder, or some files of it. */
async function mutate(folder, files) {
  const results = await new Stryker({
    // AssemblyScript is not mutated: the tests run it as WebAssembly, as it was compiled.
    mutate: [...files, "!src/transaction/assembly/**"],
    // What an error says is held by tests where it matters; a text that differs is not a rule that is broken.
    mutator: { excludedMutations: ["StringLiteral"] },
    testRunner: "jest",
    testRunnerNodeArgs: ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning"],
    jest: {
      configFile: "jest.config.mjs",
      config: { testMatch: [`<rootDir>/test/${TESTS[folder]}.test.ts`], testTimeout: 15_000 },
      enableFindRelatedTests: false,
    },
    coverageAnalysis: "perTest",
    ignoreStatic: true,
    timeoutMS: 20_000,
    dryRunTimeoutMinutes: 15,
    concurrency: Number(process.env.MUTATE_CONCURRENCY ?? 2),
    tempDirName: ".stryker-tmp",
    reporters: ["clear-text", "progress-append-only"],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  }).runMutationTest();
  const count = (...statuses) => results.filter(({ status }) => statuses.includes(status)).length;
  const killed = count("Killed", "Timeout");
  const survived = count("Survived", "NoCoverage");
  return { folder, killed, survived, score: `${((100 * killed) / (killed + survived)).toFixed(1)} %` };
}

const asked = process.argv.slice(2);
const scores = [];
for (const folder of folders) {
  const files = asked.filter((name) => name.startsWith(`src/${folder}/`));
  if (files.length > 0 || asked.length === 0 || asked.includes(folder)) {
    scores.push(await mutate(folder, files.length > 0 ? files : [`src/${folder}/**/*.ts`]));
  }
}
if (scores.length === 0) {
  console.error(`Give one of ${folders.join(", ")}, or files of theirs.`);
  process.exitCode = 2;
} else {
  console.table(scores);
}
