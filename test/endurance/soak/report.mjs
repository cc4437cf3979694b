// The tables of a long life.

const mib = (bytes) => (bytes / 2 ** 20).toFixed(1);
const row = (cells) => `| ${cells.join(" | ")} |`;
const head = (cells) => `${row(cells)}\n|${"---|".repeat(cells.length)}`;
const sum = (counts, name) => counts.reduce((total, each) => total + each[name], 0);

/** The head of the table of samples. */
export function sampleHead() {
  const memory = ["heap, MiB", "outside it, MiB", "RSS, MiB"];
  return head(["minute", ...memory, "handles", "resources", "sockets", "files", "calls", "failed"]);
}

/** A row of it. */
export function sampleRow({ minute, heap, external, rss, handles, active, sockets, files, counts }) {
  const memory = [heap, external, rss].map(mib);
  return row([
    minute.toFixed(1),
    ...memory,
    handles,
    active,
    sockets,
    files,
    sum(counts, "made"),
    sum(counts, "failed"),
  ]);
}

/** Calls made and failed, by kind and transport. */
export function callTable(counts) {
  const transports = [...new Set(counts.map(({ transport }) => transport))];
  const kinds = [...new Set(counts.map(({ kind }) => kind))].sort();
  const cell = (kind, transport) => {
    const found = counts.find((each) => each.kind === kind && each.transport === transport);
    return found === undefined ? "" : `${found.made} / ${found.failed}`;
  };
  const rows = kinds.map((kind) => row([kind, ...transports.map((transport) => cell(kind, transport))]));
  return [head(["calls made / failed", ...transports]), ...rows].join("\n");
}

/** What was checked, and what was found. */
export function checkTable(checks) {
  const found = checks.flatMap(({ name, ok, about, mistakes }) => [
    row([name, ok ? "yes" : "NO", about]),
    ...mistakes.flatMap(({ what, count, stack }) => [row([`↳ ${what}`, `${count}×`, stack ?? ""])]),
  ]);
  return [head(["check", "holds", "about"]), ...found].join("\n");
}
