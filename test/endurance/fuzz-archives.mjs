// Reading 100,000 mutated archives and as many mutated CSV files, made from a seed. Each must give all its rows or one
// of the library's errors, and the same from bytes as from a stream.
//
//   node test/endurance/fuzz-archives.mjs [--cases 100000] [--seed 1]
//
// It runs the test that reads a few of them, but with --cases archives and --cases CSV files.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { cases: { type: "string", default: "100000" }, seed: { type: "string", default: "1" } },
});
const root = fileURLToPath(new URL("../..", import.meta.url));
const jest = [
  "--import",
  "./test/support/jest/load.mjs",
  "node_modules/jest/bin/jest.js",
  "--config",
  "test/jest.full.config.mjs",
];
const { status } = spawnSync(process.execPath, [...jest, "test/data/archive/fuzz"], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, FUZZ_CASES: values.cases, FUZZ_SEED: values.seed },
});
process.exitCode = status ?? 1;
