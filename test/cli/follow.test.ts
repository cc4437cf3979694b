import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type Running, run, startCommand } from "../support/command.js";
import { eventually } from "../support/eventually.js";
import { freePort } from "../support/free-port.mjs";
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
  running.stdout.on("data", (bytes: Buffer) => {
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
  it("prints the rows of the segments, a JSON object a line, each with the columns of its own schema", async () => {
    const { code, out, err } = await run(args("--from-block", "1", "--to-block", "40", "--output", "jsonl"));
    expect([code, err]).toEqual([0, ""]);
    expect(linesOf(out)).toEqual(await all(4));
    const columns = linesOf(out).map((line) => Object.keys(JSON.parse(line)).length);
    expect(columns[0]).toBeLessThan(columns.at(-1) ?? 0);
  });

  it("goes on from the file that keeps the cursor, however often it is ended", async () => {
    const file = join(folder, "cursor");
    const lines: string[] = [];
    for (let ends = 0; ends < 50; ends += 1) {
      const { code, out } = await run(args("--to-block", "40", "--limit", "17", "--cursor-file", file));
      expect(code).toBe(0);
      if (out === "") {
        break;
      }
      lines.push(...linesOf(out));
    }
    expect(lines).toEqual(await all(4));
    expect((await readdir(folder)).filter((name) => name.startsWith(".tradewire"))).toEqual([]);
    const cursor = (await readFile(file, "utf8")).trim();
    expect(await run(args("--to-block", "40", "--cursor", cursor))).toEqual({ code: 0, out: "", err: "" });
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 0],
  ] as const)("goes on with new segments until %s, and later from there", async (signal, exit) => {
    const before = (await all(4)).length;
    const file = join(folder, signal);
    const running = startCommand(args("--cursor-file", file, "--interval", "50ms"));
    const printed = printedBy(running);
    await printed(before);
    for (let block = 0; block < 10; block += 1) {
      await node.makeBlock();
    }
    await printed(before + 1);
    running.interrupt(signal);
    const first = await running.ended;
    expect([first.code, first.err]).toEqual([exit, ""]);
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const segments = (await client.listSegments()).length;
    const second = await run(args("--cursor-file", file, "--to-block", String(segments * 10)));
    expect(linesOf(first.out + second.out)).toEqual(await all(segments));
  });

  it("says what is wrong", async () => {
    const wrong = join(folder, "wrong");
    await writeFile(wrong, "no cursor!\n");
    for (const [more, exit, message] of [
      [["--cursor", "x"], 2, '"x" is not a cursor of `follow`'],
      [["--cursor-file", wrong], 2, `${wrong}: "no cursor!" is not a cursor of \`follow\``],
      [["--cursor", "x", "--cursor-file", wrong], 2, "--cursor and --cursor-file cannot be"],
      [["--cursor-file", folder], 1, "is a folder"],
      [["--from-block", "20", "--to-block", "10"], 2, "--from-block 20 is after --to-block 10"],
      [["--cursor-file", join(folder, "no", "folder"), "--to-block", "10"], 1, "no such file or directory"],
    ] as const) {
      const { code, out, err } = await run(args(...more));
      expect([code, out, err]).toEqual([exit, "", expect.stringContaining(message)]);
    }
    expect(await run(["follow", "--table", "trade"])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("Did you mean trades?"),
    });
  });

  it("says once that the node cannot be reached, and goes on when it is there", async () => {
    const grpcPort = await freePort();
    const away = await startDevnode({ ...settings, grpcPort });
    await away.close();
    const running = startCommand(["follow", "--grpc-url", away.grpcUrl, "--table", "trades", "--to-block", "40"]);
    await eventually(() => running.said().includes("retrying"));
    await using back = await startDevnode({ ...settings, grpcPort });
    const { code, out, err } = await running.ended;
    expect([code, back.chainId]).toEqual([0, away.chainId]);
    expect(linesOf(out)).toEqual(await all(4));
    expect(err).toMatch(/^tradewire: [^\n]*the connection was refused[^\n]*; retrying\n$/);
  });
});
