import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { type Running, shell, startProcess } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { taken } from "../support/taken.js";

const settings = { blockMs: 0, segments: 4, blocksPerSegment: 10, activity: 1, schemaVersions: [115, 115, 116] };

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode(settings);
  folder = await mkdtemp(join(tmpdir(), "tradewire-follow-"));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const args = (...more: string[]) => ["follow", "--grpc-url", node.grpcUrl, "--table", "trades", ...more];
const linesOf = (text: string) => text.split("\n").slice(0, -1);

/** The rows of the first segments, a line each. */
async function all(segments: number): Promise<string[]> {
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  const request = { table: "trades", fromBlock: 1, toBlock: segments * 10 } as const;
  const { values } = await taken(client.exportNetworkHistory(request).rows());
  expect(values.length).toBeGreaterThan(50);
  return values.map((row) => JSON.stringify(row));
}

/** Make a function that waits until a command has printed so many lines in all. */
function printedBy(running: Running): (count: number) => Promise<void> {
  let text = "";
  let tell = () => {};
  running.child.stdout?.on("data", (bytes: Buffer) => {
    text += bytes.toString();
    tell();
  });
  const failed = running.ended.then(({ err }) => Promise.reject(new Error(`it ended: ${err}`)));
  failed.catch(() => undefined);
  return async (count) => {
    const came = new Promise<void>((resolve) => {
      tell = () => (linesOf(text).length >= count ? resolve() : undefined);
      tell();
    });
    await Promise.race([came, failed]);
  };
}

describe("tradewire follow", () => {
  it("repeats rows rather than lose them where it is killed", async () => {
    const file = join(folder, "killed");
    const lines: string[] = [];
    for (const count of [1, 30]) {
      const running = startProcess(args("--cursor-file", file, "--interval", "20ms"));
      await printedBy(running)(count);
      await eventually(() => count === 1 || existsSync(file)); // Killed before and after the cursor is saved.
      running.child.kill("SIGKILL");
      lines.push(...linesOf((await running.ended).out));
    }
    const rest = await run(args("--cursor-file", file, "--to-block", "40"));
    lines.push(...linesOf(rest.out));
    const before = await all(4);
    expect([...new Set(lines)].slice(0, before.length)).toEqual(before);
    expect(lines.length).toBeGreaterThan(before.length);
  });

  it("goes on after the rows that a disk took before it was full", async () => {
    const cursor = join(folder, "full-cursor");
    const options = ["--cursor-file", cursor, "--to-block", "40"];
    // The limit on the size of files cuts a write short, like a disk with little space left.
    const first = await shell('ulimit -f 8; tradewire "$@" > first', args(...options), folder);
    expect(first).toMatchObject({ code: 1, err: expect.stringContaining("standard output: the file exceeds") });
    const whole = linesOf(await readFile(join(folder, "first"), "utf8")); // Without the row that was cut.
    const rest = await run(args(...options));
    expect(rest.code).toBe(0);
    expect([...new Set([...whole, ...linesOf(rest.out)])]).toEqual(await all(4));
  });

  it("ends with 0 where the pipe is closed", async () => {
    const { code, out, err } = await shell('tradewire "$@" | head -n 3', args("--to-block", "40"), folder);
    expect([code, linesOf(out).length, err]).toEqual([0, 3, ""]);
  });
});
