import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run, startCommand } from "../support/command.js";
import { type HistoryProxy, startHistoryProxy } from "../support/history-proxy.js";

let node: Devnode;
let proxy: HistoryProxy;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 8, blocksPerSegment: 20, schemaVersions: [116], blockMs: 0 });
});
afterAll(() => node.close());
beforeEach(async () => {
  proxy = await startHistoryProxy(node.grpcUrl);
  folder = await mkdtemp(join(tmpdir(), "tradewire-cli-parts-"));
});
afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function args(...more: string[]): string[] {
  const range = ["--table", "trades", "--from-block", "1", "--to-block", "160"];
  return ["export", "--grpc-url", proxy.url, ...range, "--json", ...more];
}

/** Let the fourth part have no end. The promise waits until it is asked for. */
function stall(): Promise<void> {
  return new Promise((resolve) => {
    proxy.answer = async function* (messages, { fromBlock }) {
      yield* messages;
      if (fromBlock === 61n) {
        resolve();
        await new Promise(() => undefined);
      }
    };
  });
}

const NAME = "tradewire-devnet-trades-1-160.zip";

describe("tradewire export in parts", () => {
  it("saves the archive of one stream, and nothing beside it", async () => {
    const whole = JSON.parse((await run(args("--to", "whole.zip"), { cwd: folder })).out);
    const outcome = await run(args("--parallel", "3"), { cwd: folder });
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(outcome.out)).toMatchObject({ path: join(folder, NAME), entries: whole.entries });
    expect(proxy.asked).toHaveLength(9);
    expect((await readdir(folder)).toSorted()).toEqual([NAME, "whole.zip"].toSorted());
  });

  it.each([
    ["SIGINT", 130],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
    ["SIGTERM", 143],
  ] as const)("leaves the parts on %s, and nothing else", async (signal, code) => {
    const stalled = stall();
    const interrupted = startCommand(args("--resume", "parts", "--to", "archives/"), { cwd: folder });
    await stalled;
    interrupted.interrupt(signal);
    expect(await interrupted.ended).toEqual({ code, out: "", err: "" });
    expect((await readdir(join(folder, "parts"))).toSorted()).toEqual([
      "tradewire-part-1-20.zip",
      "tradewire-part-21-40.zip",
      "tradewire-part-41-60.zip",
      "tradewire-parts.json",
    ]);
    expect(await readdir(join(folder, "archives"))).toEqual([]);
  });

  it("leaves nothing on Ctrl-C without a folder for the parts", async () => {
    const stalled = stall();
    const interrupted = startCommand(args("--parallel", "2"), { cwd: folder });
    await stalled;
    interrupted.interrupt("SIGINT");
    expect(await interrupted.ended).toEqual({ code: 130, out: "", err: "" });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ["0", "parallel must be a whole number from 1 to 100 (got 0)"],
    ["101", "parallel must be a whole number from 1 to 100 (got 101)"],
    ["1.5", 'must be a whole number from 0 (got \\"1.5\\")'],
    ["-1", 'must be a whole number from 0 (got \\"-1\\")'],
    ["many", 'must be a whole number from 0 (got \\"many\\")'],
  ])("refuses --parallel %s", async (count, words) => {
    const outcome = await run(args("--parallel", count), { cwd: folder });
    expect(outcome).toMatchObject({ code: 2, out: expect.stringContaining(words) });
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    ["--parallel", "2", "--to", "-"],
    ["--resume", "parts", "--output", "csv"],
  ])("refuses %s %s with %s %s", async (...more) => {
    const outcome = await run(
      args(...more).filter((each) => each !== "--json"),
      { cwd: folder },
    );
    expect(outcome).toMatchObject({ code: 2, err: expect.stringContaining("saved to a file") });
  });
});
