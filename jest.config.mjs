/** @type {import("jest").Config} */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  extensionsToTreatAsEsm: [".ts"],
  transform: { "\\.ts$": ["@swc/jest", { jsc: { target: "es2022" }, module: { type: "es6" } }] },
  moduleNameMapper: {
    "^(\\.{1,2}/.*)\\.js$": ["$1.js", "$1.ts"],
    // Examples use the package by its name.
    "^tradewire$": "<rootDir>/src/index.ts",
    "^tradewire/sync$": "<rootDir>/src/sync/index.ts",
  },
  setupFiles: ["<rootDir>/test/support/errors-of-node.ts"],
  testSequencer: "<rootDir>/test/support/longest-first.mjs",
  // Tests wait more than they work: for timers, blocks and processes.
  maxWorkers: 3,
  testTimeout: 120_000,
};
