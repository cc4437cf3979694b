import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { csvZip } from "../support/archives.js";
import { declaredCommands, run } from "../support/command.js";
import { main, startProcess } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { type PostgresServer, startPostgres } from "../support/postgres.js";
import { writePrivately } from "../support/private-file.js";
import { market, seed } from "../support/transactions.js";

/** What standard output is, by the heading of its column on the page. */
const OUTPUTS = {
  works: "output works",
  gone: "reader gone",
  full: "disk full",
  short: "disk almost full",
} as const;
type Output = keyof typeof OUTPUTS;
const outputs: readonly Output[] = ["works", "gone", "full", "short"];

/** What a command is run with, and how it ends. */
interface Row {
  /** The full name of the command, and what sets the row apart from others of it. */
  readonly name: string;
  readonly how?: string;
  readonly args: readonly string[];
  /**
   * The exit code of a command whose output works, and its role: `rows` end with 0 if the reader has gone and with 1 if the
   * disk is full, an `answer` keeps its code, a `response` that is lost is 3, and an `error` keeps its code and is then on
   * standard error.
   */
  readonly ends: readonly [role: "rows" | "answer" | "response" | "error", code: number];
  /** A command that runs until it is stopped: what it says on standard error, or that it has printed, before SIGTERM. */
  readonly until?: RegExp | "printed";
}

// In the arguments: NODE for a node that makes blocks, LOSING for one that loses each transaction before it answers, STILL for one that makes none, URL for one that the command controls,
// FRESH for a path of the run's own, KIND for the output, TIME for a later time than before, and $NAME for what the preparation found out.
const ROWS: readonly Row[] = [
  { name: "export", how: "rows", args: ["export", "RANGE", "--output", "csv", "STILL"], ends: ["rows", 0] },
  { name: "export", how: "archive", args: ["export", "RANGE", "--to", "-", "STILL"], ends: ["rows", 0] },
  { name: "export", how: "to a file", args: ["export", "RANGE", "--to", "FRESH.zip", "STILL"], ends: ["rows", 0] },
  { name: "segments", args: ["segments", "STILL"], ends: ["rows", 0] },
  { name: "follow", args: ["follow", "--table", "trades", "--to-block", "20", "STILL"], ends: ["rows", 0] },
  {
    name: "sync",
    how: "all loaded",
    args: ["sync", "--to", "duckdb:FRESH", "--table", "trades", "-o", "jsonl", "STILL"],
    ends: ["answer", 0],
  },
  {
    name: "sync",
    how: "nothing in the range",
    args: ["sync", "--to", "duckdb:FRESH", "--from-block", "100000", "--to-block", "100010", "STILL"],
    ends: ["answer", 1],
  },
  {
    name: "sync",
    how: "`--follow`, ended by SIGTERM",
    args: ["sync", "--to", "duckdb:FRESH", "--follow", "-o", "jsonl", "--http", "127.0.0.1:0", "STILL"],
    ends: ["answer", 0],
    until: /Status page/,
  },
  {
    name: "sync",
    how: "`--dry-run`",
    args: ["sync", "--to", "duckdb:FRESH", "--dry-run", "STILL"],
    ends: ["answer", 0],
  },
  { name: "sync status", args: ["sync", "status", "--to", "duckdb:h.duckdb", "--json", "STILL"], ends: ["answer", 0] },
  {
    name: "sync verify",
    how: "all matches",
    args: ["sync", "verify", "--to", "duckdb:h.duckdb", "--table", "trades", "--deep", "--json", "STILL"],
    ends: ["answer", 0],
  },
  {
    name: "sync verify",
    how: "nothing there",
    args: ["sync", "verify", "--to", "duckdb:none", "--json", "STILL"],
    ends: ["answer", 1],
  },
  {
    name: "sync worker",
    how: "ended by SIGTERM",
    args: ["sync", "worker", "--to", "$POSTGRES", "-o", "jsonl", "--http", "127.0.0.1:0", "STILL"],
    ends: ["answer", 0],
    until: /Status page/,
  },
  { name: "sync compact", args: ["sync", "compact", "--to", "parquet:p"], ends: ["rows", 0] },
  { name: "sync views", args: ["sync", "views", "--to", "duckdb:h.duckdb", "STILL"], ends: ["answer", 0] },
  { name: "query", args: ["query", "--from", "parquet:p", "FROM trades"], ends: ["rows", 0] },
  { name: "schema", args: ["schema", "--table", "trades"], ends: ["rows", 0] },
  { name: "rows", args: ["rows", "a.zip"], ends: ["rows", 0] },
  { name: "rows", how: "as a table", args: ["rows", "a.zip", "-o", "table"], ends: ["rows", 0] },
  { name: "inspect", how: "sound", args: ["inspect", "a.zip"], ends: ["answer", 0] },
  { name: "inspect", how: "corrupt", args: ["inspect", "broken.zip", "--json"], ends: ["answer", 1] },
  { name: "merge", args: ["merge", "e1.zip", "e2.zip", "--to", "FRESH.zip"], ends: ["rows", 0] },
  { name: "assemble", args: ["assemble", "capture.json", "--profile", "deployed", "--to", "-"], ends: ["rows", 0] },
  { name: "markets", args: ["markets", "STILL"], ends: ["rows", 0] },
  {
    name: "markets",
    how: "`--follow`, ended by SIGTERM",
    args: ["markets", "--follow", "NODE"],
    ends: ["rows", 143],
    until: "printed",
  },
  { name: "orders", args: ["orders", "--limit", "2", "NODE"], ends: ["rows", 0] },
  { name: "trades", args: ["trades", "--limit", "2", "NODE"], ends: ["rows", 0] },
  { name: "positions", args: ["positions", "--limit", "2", "NODE"], ends: ["rows", 0] },
  { name: "accounts", args: ["accounts", "--limit", "2", "NODE"], ends: ["rows", 0] },
  { name: "params", args: ["params", "spam.*", "NODE"], ends: ["rows", 0] },
  { name: "stop-orders", args: ["stop-orders", "--limit", "2", "NODE"], ends: ["rows", 0] },
  { name: "stop-orders", how: "one", args: ["stop-orders", "$STOP_ORDER", "NODE"], ends: ["rows", 0] },
  { name: "ledger", args: ["ledger", "--party", "$PARTY", "--output", "csv", "STILL"], ends: ["rows", 0] },
  { name: "events", args: ["events", "--limit", "3", "NODE"], ends: ["rows", 0] },
  { name: "keys", args: ["keys", "--help"], ends: ["rows", 0] },
  { name: "keys new", args: ["keys", "new", "FRESH"], ends: ["rows", 0] },
  { name: "keys show", args: ["keys", "show", "key"], ends: ["rows", 0] },
  { name: "sign", args: ["sign", "good.json", "KEY", "NODE"], ends: ["rows", 0] },
  { name: "submit", how: "accepted", args: ["submit", "good.json", "KEY", "NODE"], ends: ["answer", 0] },
  {
    name: "submit",
    how: "`--wait`, executed",
    args: ["submit", "good.json", "--wait=300s", "KEY", "NODE"],
    ends: ["answer", 0],
  },
  {
    name: "submit",
    how: "`--wait`, failed",
    args: ["submit", "bad.json", "--wait=300s", "--json", "KEY", "NODE"],
    ends: ["answer", 1],
  },
  {
    name: "submit",
    how: "`--wait`, unknown",
    args: ["submit", "good.json", "--wait=30s", "--json", "KEY", "LOSING"],
    ends: ["answer", 3],
  },
  {
    name: "submit",
    how: "`--journal`, executed",
    args: ["submit", "good.json", "--journal", "FRESH", "--intent", "one", "KEY", "NODE"],
    ends: ["answer", 0],
  },
  {
    name: "submit",
    how: "`--journal`, failed",
    args: ["submit", "bad.json", "--journal", "FRESH", "--intent", "one", "--json", "KEY", "NODE"],
    ends: ["answer", 1],
  },
  { name: "submit", how: "`--check`", args: ["submit", "good.json", "--check", "KEY", "NODE"], ends: ["answer", 0] },
  { name: "submit", how: "`--dry-run`", args: ["submit", "good.json", "--dry-run", "KEY", "NODE"], ends: ["rows", 0] },
  {
    name: "signer",
    how: "ended by SIGTERM",
    args: ["signer", "--policy", "policy.json", "--socket", "FRESH", "KEY", "NODE"],
    ends: ["answer", 0],
    until: /Ctrl-C stops the signer/,
  },
  { name: "signer mode", args: ["signer", "mode", "signer.sock", "reducing"], ends: ["answer", 0] },
  { name: "signer kill", args: ["signer", "kill", "signer.sock"], ends: ["answer", 0] },
  {
    name: "outcome",
    how: "executed",
    args: ["outcome", "--signed", "executed.json", "--json", "NODE"],
    ends: ["answer", 0],
  },
  {
    name: "outcome",
    how: "unknown",
    args: ["outcome", "ab".repeat(32), "--wait=1s", "--json", "NODE"],
    ends: ["answer", 3],
  },
  { name: "verify", how: "valid", args: ["verify", "new.json", "--json", "STILL"], ends: ["answer", 0] },
  { name: "verify", how: "invalid", args: ["verify", "forged.json", "--json", "STILL"], ends: ["answer", 1] },
  {
    name: "verify",
    how: "not all could be checked",
    args: ["verify", "old.json", "--json", "STILL"],
    ends: ["answer", 3],
  },
  { name: "call", args: ["call", "LastBlockHeight", "NODE"], ends: ["rows", 0] },
  { name: "call", how: "records", args: ["call", "ListMarkets", "--all", "NODE"], ends: ["rows", 0] },
  {
    name: "call",
    how: "that may change something",
    args: ["call", "SubmitTransaction", "@request-KIND.json", "STILL"],
    ends: ["response", 0],
  },
  { name: "methods", args: ["methods"], ends: ["rows", 0] },
  { name: "describe", args: ["describe", "vega.Side"], ends: ["rows", 0] },
  {
    name: "devnode",
    how: "ended by SIGTERM",
    args: ["devnode", "--grpc-port", "0", "--rest-port", "0", "--segments", "1", "--blocks-per-segment", "1"],
    ends: ["rows", 0],
    until: /is running/,
  },
  { name: "devnode snapshot", args: ["devnode", "snapshot", "URL"], ends: ["rows", 0] },
  { name: "devnode revert", args: ["devnode", "revert", "$SNAPSHOT", "URL"], ends: ["rows", 0] },
  { name: "devnode set-time", args: ["devnode", "set-time", "TIME", "URL"], ends: ["rows", 0] },
  { name: "devnode make-block", args: ["devnode", "make-block", "URL"], ends: ["rows", 0] },
  { name: "devnode fail-next", args: ["devnode", "fail-next", "GetVegaTime", "UNAVAILABLE", "URL"], ends: ["rows", 0] },
  { name: "devnode reset", args: ["devnode", "reset", "URL"], ends: ["rows", 0] },
  { name: "demo", args: ["demo", "--to", "FRESH"], ends: ["rows", 0] },
  { name: "completion", args: ["completion", "bash"], ends: ["rows", 0] },
  { name: "status", how: "a node can be used", args: ["status", "--json", "NODE"], ends: ["answer", 0] },
  {
    name: "status",
    how: "no node can be used",
    args: ["status", "--json", "--grpc-url", "http://127.0.0.1:1"],
    ends: ["answer", 1],
  },
  {
    name: "status",
    how: "`--follow`, ended by SIGTERM",
    args: ["status", "--follow", "--interval", "100ms", "NODE"],
    ends: ["rows", 143],
    until: "printed",
  },
  { name: "doctor", how: "no failure", args: ["doctor", "NODE"], ends: ["answer", 0] },
  {
    name: "doctor",
    how: "a failure",
    args: ["doctor", "--json", "--grpc-url", "http://127.0.0.1:1"],
    ends: ["answer", 1],
  },
  { name: "explain", args: ["explain", "TW_BANNED"], ends: ["rows", 0] },
  { name: "config", args: ["config", "NODE"], ends: ["rows", 0] },
  { name: "help", args: ["help", "--all"], ends: ["rows", 0] },
  { name: "--version", args: ["--version"], ends: ["rows", 0] },
  { name: "rows", how: "an error as JSON", args: ["rows", "none.zip", "--json"], ends: ["error", 1] },
];

/** The largest file that a command may write if its disk is almost full, in bytes. Its output begins a few bytes below. */
const LIMIT = 64 * 1024 * 1024;
const LEFT = 1;

let node: Devnode;
let still: Devnode;
let admin: Devnode;
let losing: Devnode;
let server: PostgresServer;
let folder: string;
let signer: ReturnType<typeof startProcess>;
const found = new Map<string, string>();

const order = {
  marketId: market,
  size: "1",
  side: "SIDE_BUY",
  timeInForce: "TIME_IN_FORCE_GTC",
  type: "TYPE_LIMIT",
  price: "1",
};
/** A command that the node takes, and rejects when it executes it. */
const bad = { orderSubmission: { ...order, timeInForce: "TIME_IN_FORCE_GTT", expiresAt: "1" } };
const stop = {
  stopOrdersSubmission: {
    risesAbove: {
      price: "9000000",
      orderSubmission: {
        marketId: market,
        size: "1",
        side: "SIDE_SELL",
        timeInForce: "TIME_IN_FORCE_IOC",
        type: "TYPE_MARKET",
        reduceOnly: true,
      },
    },
  },
};

const KEY = ["--key-file", "key"];
const at = ({ grpcUrl }: Devnode) => ["--grpc-url", grpcUrl];

/** Runs a command that prepares the test, and returns its output. */
async function prepared(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await run(args, { cwd: folder });
  expect({ args, code, out: code === 0 ? "" : out, err: code === 0 ? "" : err }).toEqual({
    args,
    code: 0,
    out: "",
    err: "",
  });
  return out;
}

beforeAll(async () => {
  const history = { segments: 2, blocksPerSegment: 10, activity: 1 };
  [node, still, admin, losing, server] = await Promise.all([
    startDevnode({ ...history, blockMs: 500 }),
    startDevnode({ ...history, blockMs: 0, admin: true }),
    startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0, admin: true }),
    startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 500 }),
    startPostgres(),
  ]);
  folder = await mkdtemp(join(tmpdir(), "tradewire-codes-"));
  // What a key sends must not change what another command finds: `signer kill` cancels all of its orders, and a node that
  // makes no blocks takes only a few of its transactions.
  for (const [index, name] of ["key", "key-signer", ...outputs.map((kind) => `key-${kind}`)].entries()) {
    await writePrivately(folder, name, `${seed.slice(0, -1)}${index}\n`);
  }
  const policy = { mode: "active", maxOrdersPerMinute: 100, markets: {} };
  await writePrivately(folder, "policy.json", JSON.stringify(policy));
  for (const [name, content] of Object.entries({ good: { orderSubmission: order }, bad, stop })) {
    await writeFile(join(folder, `${name}.json`), JSON.stringify(content));
  }
  const archive = await csvZip();
  await writeFile(join(folder, "a.zip"), archive);
  await writeFile(join(folder, "broken.zip"), archive.subarray(0, archive.length / 2));
  await writeFile(
    join(folder, "capture.json"),
    JSON.stringify({ contentType: "application/zip", data: archive.toString("base64") }),
  );
  for (const [name, from, to] of [
    ["e1", "1", "10"],
    ["e2", "11", "20"],
  ] as const) {
    await prepared(
      "export",
      "--table",
      "trades",
      "--from-block",
      from,
      "--to-block",
      to,
      "--to",
      `${name}.zip`,
      ...at(still),
    );
  }
  await prepared("sync", "--to", "duckdb:h.duckdb", "--table", "trades", ...at(still));
  await prepared("sync", "--to", "parquet:p", "--table", "trades", ...at(still));
  losing.failNext({ method: "SubmitTransaction", with: "UNAVAILABLE", times: outputs.length });
  found.set("POSTGRES", await server.createDatabase());

  await writeFile(join(folder, "old.json"), await prepared("sign", "good.json", ...KEY, ...at(still)));
  await prepared("devnode", "make-block", "--url", still.restUrl);
  const signed = await prepared("sign", "good.json", ...KEY, ...at(still));
  await writeFile(join(folder, "new.json"), signed);
  const forged = JSON.parse(signed);
  forged.tx.signature.value = "00".repeat(64);
  await writeFile(join(folder, "forged.json"), JSON.stringify(forged));
  for (const kind of outputs) {
    await writeFile(
      join(folder, `request-${kind}.json`),
      await prepared("sign", "good.json", "--key-file", `key-${kind}`, ...at(still)),
    );
  }
  await writeFile(join(folder, "executed.json"), await prepared("sign", "good.json", ...KEY, ...at(node)));
  for (const file of ["executed.json", "stop.json"]) {
    const key = file === "stop.json" ? KEY : [];
    await prepared("submit", file, "--wait=300s", ...key, ...at(node));
  }
  const [stopOrder] = (await prepared("stop-orders", "--limit", "1", ...at(node))).split("\n");
  found.set("STOP_ORDER", JSON.parse(String(stopOrder)).id);
  found.set("PARTY", String(still.keys[0]));
  found.set("SNAPSHOT", JSON.parse(await prepared("devnode", "snapshot", "--url", admin.restUrl)).id);
  signer = startProcess(
    ["signer", "--policy", "policy.json", "--socket", "signer.sock", "--key-file", "key-signer", ...at(node)],
    folder,
  );
  await signer.firstLine;
  results = runAll();
});
afterAll(async () => {
  signer.child.kill("SIGTERM");
  await signer.ended;
  await Promise.all([node.close(), still.close(), admin.close(), losing.close(), server[Symbol.asyncDispose]()]);
  await rm(folder, { recursive: true });
});

let runs = 0;
let results: ReadonlyMap<Row, Promise<Results>>;

function argumentsOf(row: Row, kind: Output, id: number): string[] {
  const replaced: Readonly<Record<string, readonly string[]>> = {
    NODE: at(node),
    STILL: at(still),
    LOSING: at(losing),
    URL: ["--url", admin.restUrl],
    KEY,
    RANGE: ["--table", "trades", "--from-block", "1", "--to-block", "20"],
    TIME: [new Date(Date.UTC(2100, 0, 1 + id)).toISOString()],
  };
  return row.args.flatMap((arg) => {
    const text = arg
      .replace("FRESH", `fresh-${id}`)
      .replace("KIND", kind)
      .replace(/^\$(\w+)$/, (_, name: string) => found.get(name) ?? "");
    return replaced[text] ?? [text];
  });
}

/** Opens an output. The file is the one that a working or almost full disk has. */
function openOutput(kind: Output, id: number): { readonly fd: number; readonly file: string } {
  const file = join(folder, `output-${id}`);
  switch (kind) {
    case "works":
      return { fd: openSync(file, "w"), file };
    case "full":
      return { fd: openSync("/dev/full", "w"), file };
    case "short":
      writeFileSync(file, "");
      truncateSync(file, LIMIT - LEFT); // It takes no space.
      return { fd: openSync(file, "a"), file };
    case "gone": {
      execFileSync("mkfifo", [file]);
      const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
      const fd = openSync(file, "w");
      closeSync(reader);
      return { fd, file };
    }
  }
}

interface Ended {
  readonly code: number | null;
  readonly err: string;
  /** The size of the output's file. */
  readonly size: number;
}

/** Runs the built command in a process of its own, with an output of a kind. */
async function runWith(kind: Output, row: Row): Promise<Ended> {
  runs += 1;
  const id = runs;
  const { fd, file } = openOutput(kind, id);
  // A limit on the size of files cuts a write short like a disk that has little space left, and needs no rights to mount one.
  const limited = kind === "short" ? `ulimit -f ${LIMIT / 512}; exec "$@"` : 'exec "$@"';
  const child = spawn("sh", ["-c", limited, "sh", process.execPath, main, ...argumentsOf(row, kind, id)], {
    cwd: folder,
    stdio: ["ignore", fd, "pipe"],
  });
  closeSync(fd);
  let err = "";
  let isStopped = false;
  const stop = (isDue: boolean) => {
    if (isDue && !isStopped) {
      isStopped = true;
      child.kill("SIGTERM");
    }
  };
  child.stderr?.on("data", (part: Buffer) => {
    err += part.toString();
    stop(row.until instanceof RegExp && row.until.test(err));
  });
  const closed = once(child, "close");
  if (row.until === "printed" && kind === "works") {
    await eventually(async () => statSync(file).size > 0);
    stop(true);
  }
  const [code] = await closed;
  return { code: typeof code === "number" ? code : null, err, size: kind === "full" ? 0 : statSync(file).size };
}

function expectedCodes({ ends: [role, code] }: Row): readonly number[] {
  switch (role) {
    case "rows":
      return [code, 0, 1, 1];
    case "response":
      return [code, 3, 3, 3];
    default:
      return [code, code, code, code];
  }
}

const SAID = {
  gone: "tradewire: standard output: the reader has gone\n",
  full: "tradewire: standard output: the disk is full\n",
  short: "tradewire: standard output: the file exceeds the system's size limit\n",
};

/** How many commands run at the same time. */
const AT_ONCE = 6;

type Results = readonly (readonly [Output, Ended])[];

/** Runs all rows: those of a command and its subcommands, which may share files and sockets, one after the other. */
function runAll(): ReadonlyMap<Row, Promise<Results>> {
  const finish = new Map<Row, (results: Results | Promise<Results>) => void>();
  const results = new Map(ROWS.map((row) => [row, new Promise<Results>((resolve) => finish.set(row, resolve))]));
  const words = new Set(ROWS.map(firstWord));
  const queue = Array.from(words, (word) => ROWS.filter((row) => firstWord(row) === word));
  async function work(): Promise<void> {
    for (let rows = queue.shift(); rows !== undefined; rows = queue.shift()) {
      for (const row of rows) {
        const running = runOne(row);
        running.catch(() => undefined); // The test of the row reports it.
        finish.get(row)?.(running);
        await running.catch(() => undefined);
      }
    }
  }
  for (let count = 0; count < AT_ONCE; count += 1) {
    void work();
  }
  return results;
}

const firstWord = ({ name }: Row) => name.split(" ")[0];

async function runOne(row: Row): Promise<Results> {
  const ended: (readonly [Output, Ended])[] = [];
  for (const kind of outputs) {
    ended.push([kind, await runWith(kind, row)]);
  }
  return ended;
}

/** The lines of the table on the page, as they were observed. */
const observed = new Map<Row, string>();

describe("the exit code", () => {
  const label = ({ name, how }: Row) => `${name}${how === undefined ? "" : ` (${how})`}`;

  test.each(ROWS.map((row) => [label(row), row] as const))("of %s for each output", async (_, row) => {
    const ended = (await results.get(row)) ?? [];
    const codes = ended.map(([, { code }]) => code);
    const said = ended.map(([, { err }]) => err);
    expect(codes.map((code, index) => [code, said[index]])).toEqual(
      expectedCodes(row).map((code, index) => [code, said[index]]),
    );
    for (const [kind, { err, size }] of ended) {
      if (kind === "works") {
        expect(size).toBeGreaterThan(0);
        expect(err).not.toContain("standard output");
        continue;
      }
      const [role] = row.ends;
      const isQuiet = kind === "gone" && (role === "rows" || role === "error");
      expect(err).toContain(role === "error" ? "tradewire: none.zip: file not found\n" : "");
      expect(err.split("tradewire: standard output: ")).toHaveLength(isQuiet ? 1 : 2);
      expect(err).toContain(isQuiet ? "" : SAID[kind]);
      expect(err).not.toMatch(/^\s+at .*:\d+/m);
      if (kind === "short") {
        expect(size).toBe(LIMIT); // The system took a few bytes, and said so.
      }
    }
    observed.set(row, `| \`tradewire ${row.name}\` | ${row.how ?? ""} | ${codes.join(" | ")} |\n`);
  });

  test("is tested for each command", async () => {
    const names = new Set(ROWS.map(({ name }) => name));
    expect((await declaredCommands()).filter((name) => !names.has(name))).toEqual([]);
  });

  test("is listed in test/cli/exit-codes.md (run this file with WRITE_TABLE=1 to write it)", async () => {
    const head = `| command | | ${Object.values(OUTPUTS).join(" | ")} |\n|---|---|${"---|".repeat(outputs.length)}\n`;
    const table = head + ROWS.map((row) => observed.get(row)).join("");
    const page = await readFile("test/cli/exit-codes.md", "utf8");
    const written = page.replace(/^\| command \|.*?\n(?=\n|$(?![\s\S]))/ms, () => table);
    if (process.env["WRITE_TABLE"] === "1") {
      await writeFile("test/cli/exit-codes.md", written);
    }
    expect(await readFile("test/cli/exit-codes.md", "utf8")).toBe(written);
  });
});
