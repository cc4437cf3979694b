import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { eventually } from "../support/eventually.js";
import { type Example, installExample } from "../support/example.js";
import { startPostgres } from "../support/postgres.js";

let node: Devnode;
let environment: Record<string, string>;

beforeAll(async () => {
  node = await startDevnode({ blockMs: 0, segments: 4, blocksPerSegment: 10 });
  environment = { TRADEWIRE_GRPC_URL: node.grpcUrl };
});
afterAll(async () => {
  await node.close();
});

describe("save-export", () => {
  let example: Example;
  beforeAll(async () => {
    example = await installExample("save-export");
  });
  afterAll(async () => {
    await example[Symbol.asyncDispose]();
  });
  const run = (...args: string[]) => example.run(args, environment);

  it("saves an archive, and says where and what", async () => {
    const { code, out, err } = await run("trades", "1", "40", "archives").ended;
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const [, path = "", bytes, sha256] = /^(.*): (\d+) bytes, SHA-256 (\w+)\n$/.exec(out) ?? [];
    expect(path.startsWith(join(example.folder, "archives/tradewire-devnet-trades-"))).toBe(true);
    const archive = await readFile(path);
    expect(Number(bytes)).toBe(archive.length);
    expect(sha256).toBe(createHash("sha256").update(archive).digest("hex"));
  });

  it("goes on where it was stopped", async () => {
    // Three parts come, the fourth one does not.
    node.failNext({ method: "ExportNetworkHistory", with: "stall", times: 1 });
    const running = run("orders", "1", "40", "stopped");
    const parts = join(example.folder, "stopped/orders-1-40.parts");
    await eventually(async () => {
      const names = await readdir(parts).catch(() => []);
      return names.filter((name) => /^tradewire-part-.*\.zip$/.test(name)).length >= 3;
    });
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual({
      code: 130,
      out: "",
      err: "stopped\nStart it again, and it goes on from here.\n",
    });
    // Each run makes one call, as one part is missing.
    node.failNext({ method: "ExportNetworkHistory", with: "INVALID_ARGUMENT", times: 2 });
    const codes: unknown[] = [];
    for (let again = 0; again < 3; again += 1) {
      codes.push((await run("orders", "1", "40", "stopped").ended).code);
    }
    expect(codes).toEqual([1, 1, 0]);
    expect(await readdir(join(example.folder, "stopped"))).toEqual([expect.stringMatching(/-orders-.*1-40\.zip$/)]);
  });

  it.each([
    [["tradez"], /^unknown table tradez\nValid tables: balances, /],
    [["trades", "one"], /^one is not a block number\n/],
    [["trades", "2", "40"], /^.*\n.*\n$/],
  ])("says what is wrong with %j", async (args, message) => {
    const { code, out, err } = await run(...args).ended;
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(message);
  });
});

describe("load-postgres", () => {
  it("loads trades, and each once, and asks for the busiest markets", async () => {
    await using postgres = await startPostgres();
    await using example = await installExample("load-postgres");
    const DATABASE_URL = await postgres.createDatabase();
    const run = () => example.run([], { ...environment, DATABASE_URL }).ended;
    const first = await run();
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toMatch(/^[1-9]\d* rows of 4 segments loaded\n([0-9a-f]{64}: \d+ trades from \d+ to \d+\n){3}$/);
    const again = await run();
    expect(again.out).toBe(first.out.replace(/^.*\n/, "0 rows of 0 segments loaded\n"));
  });

  it("says that it needs a database", async () => {
    await using example = await installExample("load-postgres");
    const { code, err } = await example.run([], { ...environment }).ended;
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^DATABASE_URL is not set\nSet it to /) });
  });
});
