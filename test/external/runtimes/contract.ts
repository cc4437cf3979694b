// Runs the contract's cases over each transport in whatever runtime executes this file, and prints what became of each, a line
// of JSON. run.mjs joins it with the test's own modules into one file.
import { httpCases } from "../../contract/cases-http.js";
import { limitCases } from "../../contract/cases-limits.js";
import { networkCases } from "../../contract/cases-network.js";
import { statusCases } from "../../contract/cases-status.js";
import { streamCases } from "../../contract/cases-stream.js";
import { makeCertificates, removeCertificates, tlsCases } from "../../contract/cases-tls.js";
import { isPossible, runCase } from "../../contract/run.js";
import { transports } from "../../contract/transports.js";

/** How long a case may take over one transport, in milliseconds. */
const CASE_MS = 20_000;

const cases = [...streamCases, ...statusCases, ...networkCases, ...httpCases, ...limitCases, ...tlsCases];

/** A value as JSON, with its keys in order: what is undefined is left out. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === "bigint") {
      return `${one}n`;
    }
    if (one instanceof Error) {
      return `${one.name}: ${one.message}`;
    }
    return typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one;
  });
}

/** Waits for a promise; undefined if it takes too long. */
function within<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CASE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// What a runtime throws outside of a call must not hide the other cases.
process.on("uncaughtException", () => undefined);
process.on("unhandledRejection", () => undefined);

await makeCertificates();
for (const one of cases) {
  const possible = transports.filter((transport) => isPossible(one, transport));
  const runs = possible.map(async (transport) => {
    const found = await within(runCase(one, transport)).catch((reason: unknown) => reason);
    return { name: one.name, transport: transport.name, found: plain(found ?? "no outcome in time") };
  });
  for (const run of await Promise.all(runs)) {
    process.stdout.write(`${JSON.stringify(run)}\n`);
  }
}
removeCertificates();
process.exit(0);
