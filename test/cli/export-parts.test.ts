import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "../../src/devnode/index.js";
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
    const whole = JSON.parse((await run(args("--out", "whole.zip"), folder)).out);
    const outcome = await run(args("--parallel", "3"), folder);
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(outcome.out)).toMatchObject({ path: join(folder, NAME), entries: whole.entries });
    expect(proxy.asked).toHaveLength(9);
    expect((await readdir(folder)).toSorted()).toEqual([NAME, "whole.zip"].toSorted());
  });

  it("goes on after it was killed, with the parts that had come", async () => {
    const stalled = stall();
    const killed = startCommand(args("--resume", "parts"), folder);
    await stalled;
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect(proxy.asked).toEqual([1n, 21n, 41n, 61n]);
    proxy.answer = (messages) => messages;
    const outcome = await run(args("--resume", "parts"), folder);
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(proxy.asked).toEqual([1n, 21n, 41n, 61n, 61n, 81n, 101n, 121n, 141n]);
    expect(await readdir(folder)).toEqual([NAME]);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
    ["SIGTERM", 143],
  ] as const)("leaves the parts on %s, and nothing else", async (signal, code) => {
    const stalled = stall();
    const interrupted = startCommand(args("--resume", "parts", "--out", "archives/"), folder);
    await stalled;
    interrupted.child.kill(signal);
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
    const interrupted = startCommand(args("--parallel", "2"), folder);
    await stalled;
    interrupted.child.kill("SIGINT");
    expect(await interrupted.ended).toEqual({ code: 130, out: "", err: "" });
    expect(await readdir(folder)).toEqual([]);
  });

  it("removes what a killed one has left without a folder for the parts", async () => {
    const stalled = stall();
    const killed = startCommand(args("--parallel", "2"), folder);
    await stalled;
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect((await readdir(folder)).length).toBeGreaterThan(0);
    proxy.answer = (messages) => messages;
    expect((await run(args("--parallel", "2"), folder)).code).toBe(0);
    expect(await readdir(folder)).toEqual([NAME]);
  });

  it.each([
    ["0", "parallel is 0"],
    ["101", "parallel is 101"],
    ["1.5", '\\"1.5\\" is no whole number'],
    ["-1", '\\"-1\\" is no whole number'],
    ["many", '\\"many\\" is no whole number'],
  ])("refuses --parallel %s", async (count, words) => {
    const outcome = await run(args("--parallel", count), folder);
    expect(outcome).toMatchObject({ code: 2, out: expect.stringContaining(words) });
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    ["--parallel", "2", "--out", "-"],
    ["--resume", "parts", "--format", "csv"],
  ])("refuses %s %s with %s %s", async (...more) => {
    const outcome = await run(
      args(...more).filter((each) => each !== "--json"),
      folder,
    );
    expect(outcome).toMatchObject({ code: 2, err: expect.stringContaining("saved to a file") });
  });
});
