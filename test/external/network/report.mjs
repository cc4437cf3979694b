// What became of the cases: a line for each, and a summary.

/** Why a case cannot run here. */
export class LeftOut extends Error {}

/** Make the report. */
export function createReport({ only, limitMs, json }) {
  const results = [];
  const figures = [];
  const began = performance.now();
  const say = (line) => json || console.log(line);
  return {
    /** Keep a measured value for the summary. */
    figure(name, value) {
      figures.push({ name, value });
    },

    /** Run a case `{ group, name, check }`, unless `only` names others. */
    async run({ group, name, check, extraMs = 0 }, { signal }) {
      if (only.length > 0 && !only.some((part) => `${group}: ${name}`.includes(part))) {
        return;
      }
      const start = performance.now();
      const allowedMs = limitMs + extraMs;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(allowedMs)]);
      const [status, reason] = signal.aborted
        ? ["left out", "interrupted"]
        : await Promise.race([check(limit), aborted(limit, allowedMs)]).then(
            () => ["passed"],
            (error) =>
              signal.aborted
                ? ["left out", "interrupted"]
                : [error instanceof LeftOut ? "left out" : "failed", describe(error)],
          );
      const seconds = Number(((performance.now() - start) / 1000).toFixed(1));
      results.push({ group, name, status, seconds, ...(reason === undefined ? {} : { reason }) });
      say(
        `${status.padEnd(8)} | ${seconds.toFixed(1).padStart(6)} s | ${group}: ${name}${reason ? `: ${reason}` : ""}`,
      );
    },

    /** Print the summary. Gives whether all cases that ran passed. */
    finish({ chainId, urls }) {
      const counts = { cases: results.length, passed: 0, failed: 0, "left out": 0 };
      for (const { status } of results) {
        counts[status] += 1;
      }
      const seconds = Math.round((performance.now() - began) / 1000);
      if (json) {
        console.log(JSON.stringify({ chainId, node: urls.dataGrpc, seconds, ...counts, figures, results }, bigints, 1));
      } else {
        printSummary({ chainId, urls, counts, seconds, figures, results });
      }
      return counts.failed === 0 && counts.passed > 0;
    },
  };
}

function printSummary({ chainId, urls, counts, seconds, figures, results }) {
  console.log(`\nchain ${chainId}, data node ${urls.dataGrpc}, ${seconds} s`);
  for (const { name, value } of figures) {
    console.log(
      Array.isArray(value) ? `\n${name}\n${value.map((line) => `  ${line}`).join("\n")}` : `${name}: ${value}`,
    );
  }
  for (const status of ["left out", "failed"]) {
    for (const { group, name, reason } of results.filter((each) => each.status === status)) {
      console.log(`${status}: ${group}: ${name}: ${reason}`);
    }
  }
  const { cases, passed, failed, "left out": left } = counts;
  console.log(`\n${cases} cases: ${passed} passed, ${failed} failed, ${left} left out`);
}

function aborted(signal, ms) {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error(`it took longer than ${ms / 1000} s`)), { once: true });
  });
}

/** The error in one line, with what was expected where it is an assertion's. */
function describe(error) {
  const { message = String(error), code, actual, expected, details } = error;
  const shown = (value) => (JSON.stringify(value, bigints) ?? String(value)).slice(0, 400);
  // Node 24 appends a difference to an assertion's message, from the line after it.
  const reasons = (details ?? []).map(({ message: text, inner }) => `${text ?? ""} ${inner ?? ""}`.trim());
  const first = [message.split("\n+ actual")[0].split("\nSee docs")[0], ...reasons]
    .join("; ")
    .replaceAll(/\s*\n\s*/g, " ")
    .slice(0, 600);
  return code === "ERR_ASSERTION" && actual !== undefined && !error.generatedMessage
    ? `${first} (got ${shown(actual)}, expected ${shown(expected)})`
    : first;
}

function bigints(_, value) {
  return typeof value === "bigint" ? String(value) : value;
}
