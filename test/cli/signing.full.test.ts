import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import type { Outcome } from "../support/command.js";
import { main, shell, start } from "../support/command-process.js";
import { closedUrl } from "../support/node.js";
import { writePrivately } from "../support/private-file.js";
import { seed } from "../support/transactions.js";

let node: Devnode;
let folder: string;
let keyFile: string;
let commandFile: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  folder = await mkdtemp(join(tmpdir(), "tradewire-signing-"));
  keyFile = await writePrivately(folder, "key", `${seed}\n`);
  commandFile = await writePrivately(folder, "command.json", JSON.stringify({ stopOrdersCancellation: {} }));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

describe("a key", () => {
  test("that could not be written leaves no file", async () => {
    const made = await shell('ulimit -f 0; tradewire keys new "$1"', [join(folder, "unwritten")], folder);
    expect(made).toMatchObject({ code: 1, out: "", err: expect.stringContaining("the file exceeds") });
    expect(await readdir(folder)).not.toContain("unwritten");
  });

  test("may not come out of a pipe, and says so at once", async () => {
    const piped = await start("bash", ["-c", '"$0" "$1" keys show <(echo)', process.execPath, main]).ended;
    expect(piped).toMatchObject({ code: 1, out: "", err: expect.stringContaining("not a regular file") });
  });
});

describe("a configuration out of a pipe, which can be read only once,", () => {
  const piped = async (args: readonly string[], restUrl: string) => {
    const CONFIG = JSON.stringify({ transport: "rest", rest: { url: restUrl }, chainId: "tradewire-devnet" });
    const script = '"$0" "$@" --config <(printf %s "$CONFIG")';
    return start("bash", ["-c", script, process.execPath, main, ...args], undefined, { CONFIG }).ended;
  };

  test.each([["sign"], ["submit"], ["submit", "--check"], ["submit", "--dry-run"], ["submit", "--wait"]])(
    "is that of all that %s does",
    async (command, ...more) => {
      await using own = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 100 });
      const signed = await piped([command, commandFile, "--key-file", keyFile, ...more], own.restUrl);
      expect(signed).toMatchObject({ code: 0, err: expect.stringContaining("chain tradewire-devnet") });
      if (command === "sign") {
        expect(signed.err).toContain(`node ${own.restUrl}`);
      }
    },
  );

  test("is that of a call, and of each node of a sync", async () => {
    const called = await piped(["call", "CoreService.LastBlockHeight"], node.restUrl);
    expect(called).toMatchObject({ code: 0, err: "", out: expect.stringContaining("tradewire-devnet") });
    const other = node.restUrl.replace("127.0.0.1", "localhost");
    const synced = [
      "sync",
      "--to",
      `duckdb:${join(folder, "rows.duckdb")}`,
      "--rest-url",
      node.restUrl,
      "--rest-url",
      other,
    ];
    expect(await piped(synced, node.restUrl)).toMatchObject({ code: 0 });
  });
});

test.each([
  ["submit", "SIGINT", 130],
  ["sign", "SIGTERM", 143],
  ["verify", "SIGHUP", 129],
] as const)("%s ends by %s while it reads standard input", async (command, signal, code) => {
  const child = spawn(process.execPath, [main, command, "-"], { stdio: ["pipe", "ignore", "ignore"] });
  const closed = once(child, "close");
  // More than a pipe holds: once it is written, the command is reading.
  await new Promise((resolve) => child.stdin.write(" ".repeat(2 ** 20), resolve));
  expect(child.exitCode).toBeNull();
  child.kill(signal);
  expect((await closed)[0]).toBe(code);
});

describe("nothing of a failing submit holds the seed", () => {
  const failures: readonly (readonly [string, () => Promise<string[]>, RegExp])[] = [
    [
      "refused by the node",
      async () => ["--chain-id-prefix", "signature-only", "--transport", "grpc", "--grpc-url", node.grpcUrl],
      /tx\.input_data \(has to begin/,
    ],
    [
      "without a node",
      async () => ["--transport", "rest", "--rest-url", await closedUrl()],
      /the connection was refused/,
    ],
  ];

  test.each(failures)("%s: output, error, and the memory at its end", async (_, more, reason) => {
    const dump = join(folder, "memory");
    const loader = pathToFileURL(resolve("test/support/dump-memory.mjs")).href;
    const withDump = process.platform === "linux" ? ["--expose-gc", "--import", loader] : [];
    const args = [...withDump, main, "submit", commandFile, "--key-file", keyFile, ...(await more())];
    const outcome = await start(process.execPath, args, undefined, { DUMP_FILE: dump }).ended;
    expect(outcome).toMatchObject({ code: 1, out: "", err: expect.stringMatching(reason) });
    expectNoSeed(outcome);
    if (process.platform === "linux") {
      // What is there is found: the file's name is, so the seed would be.
      expect(await occurrences(dump, Buffer.from(keyFile))).toBeGreaterThan(0);
      expect(await occurrences(dump, Buffer.from(seed, "hex"))).toBe(0);
      expect(await occurrences(dump, Buffer.from(seed))).toBe(0);
    }
  });
});

/** Neither the seed, nor a good part of it, in any form. */
function expectNoSeed({ out, err }: Outcome): void {
  const bytes = Buffer.from(seed, "hex");
  for (const form of [seed.slice(8, 40), bytes.toString("base64").slice(4, 28), bytes.join(",").slice(8, 40)]) {
    expect((out + err).toLowerCase()).not.toContain(form.toLowerCase());
  }
}

/** How often bytes occur in a file that may be large. */
async function occurrences(path: string, bytes: Uint8Array): Promise<number> {
  await using file = await open(path, "r");
  const piece = Buffer.alloc(16 * 1024 * 1024);
  let kept = 0;
  let count = 0;
  for (;;) {
    const { bytesRead } = await file.read(piece, kept, piece.length - kept);
    const filled = piece.subarray(0, kept + bytesRead);
    for (let at = filled.indexOf(bytes); at !== -1; at = filled.indexOf(bytes, at + 1)) {
      count += 1;
    }
    if (bytesRead === 0) {
      return count;
    }
    kept = Math.min(bytes.length - 1, filled.length);
    piece.copyWithin(0, filled.length - kept, filled.length);
  }
}
