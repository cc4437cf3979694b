import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { startProcess } from "../support/command-process.js";
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
  it("goes on after it was killed, with the parts that had come", async () => {
    const stalled = stall();
    const killed = startProcess(args("--resume", "parts"), folder);
    await stalled;
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect(proxy.asked).toEqual([1n, 21n, 41n, 61n]);
    proxy.answer = (messages) => messages;
    const outcome = await run(args("--resume", "parts"), { cwd: folder });
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(proxy.asked).toEqual([1n, 21n, 41n, 61n, 61n, 81n, 101n, 121n, 141n]);
    expect(await readdir(folder)).toEqual([NAME]);
  });

  it("removes what a killed one has left without a folder for the parts", async () => {
    const stalled = stall();
    const killed = startProcess(args("--parallel", "2"), folder);
    await stalled;
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect((await readdir(folder)).length).toBeGreaterThan(0);
    proxy.answer = (messages) => messages;
    expect((await run(args("--parallel", "2"), { cwd: folder })).code).toBe(0);
    expect(await readdir(folder)).toEqual([NAME]);
  });
});
