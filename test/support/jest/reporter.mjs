import { relative } from "node:path";

/** Says how to run again what failed, and with TEST_SLOWEST=20 which files took longest. */
export default class Again {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_, { testResults }) {
    const fileOf = ({ testFilePath }) => relative(this.rootDir, testFilePath);
    const failed = testResults.filter(({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError);
    if (failed.length > 0) {
      process.stderr.write(`\nTo run what failed again:\n`);
    }
    for (const result of failed) {
      const file = fileOf(result);
      const script = file.endsWith(".full.test.ts") ? "test:full" : "test";
      const names = result.testResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName);
      const only = names.length === 1 ? ` -t ${quoted(names[0])}` : "";
      process.stderr.write(`  npm run ${script} -- ${file}${only}\n`);
    }
    const count = Number(process.env["TEST_SLOWEST"] ?? 0);
    const slowest = testResults.toSorted((a, b) => b.perfStats.runtime - a.perfStats.runtime).slice(0, count);
    for (const result of slowest) {
      process.stderr.write(`${(result.perfStats.runtime / 1000).toFixed(1).padStart(7)} s  ${fileOf(result)}\n`);
    }
  }
}

/** A test's name as a pattern that stands for itself, for a shell. */
function quoted(name) {
  return `'^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("'", ".")}$'`;
}
