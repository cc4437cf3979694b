// What must hold of a long life.

const MIB = 2 ** 20;
/** How much more there may be in the last third of the samples than in the first, by the medians: a factor, and what is noise. */
const FLAT = {
  heap: { times: 1.15, plus: 6 * MIB },
  external: { times: 1.25, plus: 16 * MIB },
  rss: { times: 1.3, plus: 64 * MIB },
  handles: { times: 1.25, plus: 12 },
  active: { times: 1.25, plus: 20 },
  sockets: { times: 1.25, plus: 12 },
  files: { times: 1.25, plus: 12 },
};
const NAMES = {
  heap: "the heap stays flat",
  external: "memory outside the heap stays flat",
  rss: "resident memory stays flat",
  handles: "handles stay flat",
  active: "active resources stay flat",
  sockets: "sockets stay flat",
  files: "open files stay flat",
};
/** A third of a short run may be disturbed all the time: kinds of calls have to succeed in so many minutes at its end. */
const LEAST_MINUTES = 5;
/** What the process itself looks for; a problem of another name is a check of its own. */
const WATCHED = [
  ...["no call is stuck", "errors are the library's", "nothing is canceled by itself", "answers are right"],
  ...["no record is listed twice", "exports are right", "nothing is left on the disk", "nothing is submitted twice"],
  ...["no rejection is unhandled", "no exception is uncaught", "nothing warns"],
];

/** Judge a run. */
export function judge({ samples, done, found, exit }) {
  return [
    ...flatness(samples),
    ...(done === undefined
      ? [check("the process ends its calls, catches up and closes", "", ["it does not"])]
      : [...ofProcess(done), ...ofNode(done, found)]),
    liveness(samples),
    check("the process ends by itself", `exit ${exit}`, exit === 0 ? [] : [String(exit)]),
  ];
}

function check(name, about, mistakes) {
  const listed = mistakes.map((each) => (typeof each === "string" ? { what: each, count: 1 } : each));
  return { name, ok: listed.length === 0, about, mistakes: listed };
}

function flatness(samples) {
  const third = Math.max(1, Math.floor(samples.length / 3));
  return Object.entries(FLAT).map(([name, { times, plus }]) => {
    const [first, last] = [samples.slice(0, third), samples.slice(-third)].map((part) =>
      median(part.map((sample) => sample[name])),
    );
    const [unit, digits, of] = plus >= MIB ? [MIB, 1, " MiB"] : [1, 0, ""];
    const told = (value) => `${(value / unit).toFixed(digits)}${of}`;
    const about = `${told(first)}, then ${told(last)}; at most ${times} times and ${told(plus)}`;
    return check(NAMES[name], about, last <= first * times + plus ? [] : [`${name} grows`]);
  });
}

/** Each kind of call succeeds in the last third too, over each transport. */
function liveness(samples) {
  const { minute = 0, counts: last = [] } = samples.at(-1) ?? {};
  const from = minute - Math.max(LEAST_MINUTES, minute / 3);
  const earlier = samples.findLast((sample) => sample.minute <= from)?.counts ?? [];
  const before = new Map(earlier.map(({ kind, transport, good }) => [`${kind} ${transport}`, good]));
  const stopped = last.filter(({ kind, transport, good }) => good <= (before.get(`${kind} ${transport}`) ?? 0));
  // A sync goes over one transport after the other, for a minute each.
  const dead = stopped.filter(
    ({ kind }) => kind !== "sync" || stopped.filter((each) => each.kind === kind).length === 4,
  );
  const words = dead.map(({ kind, transport }) => `${kind} over ${transport} no longer succeeds`);
  return check("all kinds of calls succeed until the end", `${last.length} kinds and transports`, words);
}

function ofProcess({ problems, empty, closed }) {
  const names = [...new Set([...WATCHED, ...problems.map(({ check: name }) => name)])];
  const left = ["active", "sockets", "handles"].filter((name) => closed[name] > empty[name]);
  return [
    ...names.map((name) =>
      check(
        name,
        "",
        problems.filter((problem) => problem.check === name),
      ),
    ),
    check(
      "nothing is left behind when all is closed",
      `${closed.active} resources, ${closed.sockets} sockets, ${(closed.heap / MIB).toFixed(1)} MiB of heap`,
      left.map((name) => `${name}: ${empty[name]} at the start, ${closed[name]}: ${JSON.stringify(closed.resources)}`),
    ),
  ];
}

function ofNode({ toBlock, synced }, { differ, follows, events, transactions }) {
  const { events: given, gaps, streams, blocks } = events;
  const other = follows.filter(({ digest, exported }) => digest !== exported);
  return [
    check("the sync's rows are the node's", `up to block ${toBlock}`, [
      ...synced.failed,
      ...(differ === 0 ? [] : [`${differ} tables differ`]),
    ]),
    check(
      "a follow's rows are the node's, each once",
      follows.map(({ table, digest }) => `${table}: ${digest.split(" ")[0]} rows`).join(", "),
      other.map(({ table, digest, exported }) => `${table}: ${digest}, but ${exported}`),
    ),
    check(
      "each event comes once, or a gap says that it may be missing",
      `${given} events of ${blocks} blocks in ${streams} streams, ${gaps} gaps`,
      events.mistakes,
    ),
    check(
      "what is said of transactions is what the blocks hold, once",
      `${transactions.found} in blocks`,
      transactions.mistakes,
    ),
  ];
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
