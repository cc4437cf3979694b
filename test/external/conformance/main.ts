/**
 * The conformance suite for gRPC clients, with this library's transports, and for comparison with what they are built
 * on. It needs Go, and is no part of `npm test`: run `npm run test:conformance`.
 */
import { fileURLToPath } from "node:url";
import { findSuite, type Outcome, type Run, runSuite } from "./suite.js";

const here = fileURLToPath(new URL("../../../../", import.meta.url));
const cache = fileURLToPath(new URL("../../../../../../../node_modules/.cache/conformance", import.meta.url));
const list = (name: string) => `@${here}${name}.txt`;

/** The clients: each transport of ours, and behind it what it is built on. */
const runs: readonly Run[] = [
  { client: "tradewire grpc", json: true, options: ["--known-failing", list("known-failing-grpc")] },
  { client: "connect-node", json: true },
  {
    client: "tradewire grpc-js",
    json: false,
    options: ["--known-failing", list("known-failing-grpc-js"), "--known-flaky", list("known-flaky-grpc-js")],
  },
  { client: "grpc-js", json: false },
];

const suite = findSuite(cache);
if (suite === undefined) {
  console.log("test:conformance is skipped: it needs Go");
} else {
  const outcomes: Outcome[] = [];
  for (const run of runs) {
    outcomes.push(await runSuite(suite, cache, run));
  }
  report(outcomes);
  const ours = outcomes.filter(({ run }) => run.options !== undefined);
  process.exitCode = ours.some(({ failed, notRun }) => failed.length + notRun > 0) ? 1 : 0;
}

/** Print what came of the runs. */
function report(outcomes: readonly Outcome[]): void {
  for (const { run, output, failed } of outcomes) {
    if (run.options !== undefined && failed.length > 0) {
      const told = output.split(/^(?=FAILED|INFO|Total)/m).filter((part) => part.startsWith("FAILED"));
      console.log(`${run.client}:\n${told.join("")}`);
    }
  }
  console.log("The cases that fail, and in how many forms (clear text, TLS, codecs):");
  const cases = [...new Set(outcomes.flatMap(({ failed, known }) => [...failed, ...known].map(caseOf)))].sort();
  console.table(
    Object.fromEntries(
      cases.map((name) => [
        name,
        Object.fromEntries(
          outcomes.map(({ run, failed, known }) => [
            run.client,
            [...failed, ...known].filter((each) => caseOf(each) === name).length,
          ]),
        ),
      ]),
    ),
  );
  console.table(
    Object.fromEntries(
      outcomes.map(({ run, passed, failed, known, notRun }) => [
        run.client,
        { passed, failed: failed.length + notRun, "known failing": known.length },
      ]),
    ),
  );
}

/** The name of a case without its form: `Timeouts/HTTPVersion:2/TLS:true/unary` is one of `Timeouts/unary`. */
function caseOf(name: string): string {
  const parts = name.split("/");
  return parts.filter((part) => !/^[A-Z]\w+:\w+$|^\(/.test(part)).join("/");
}
