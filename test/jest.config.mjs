/** @type {import("jest").Config} */
export default {
  rootDir: "..",
  // Those of the slower tier end in `.full.test.ts`.
  testMatch: ["<rootDir>/test/**/!(*.full).test.ts"],
  runtime: "<rootDir>/test/support/jest/runtime.cjs",
  testEnvironment: "<rootDir>/test/support/jest/environment.cjs",
  transform: {},
  reporters: ["default", "<rootDir>/test/support/jest/reporter.mjs"],
  testSequencer: "<rootDir>/test/support/longest-first.mjs",
  // Tests wait more than they work: for timers, blocks and processes.
  maxWorkers: 4,
  // It ends tests that hang; none that works takes as long on a machine with twenty times as much to do.
  testTimeout: 300_000,
};
