import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";

/** Run a script in a process of its own. `ticks()` has the time of each of its threads. */
async function run(script: string): Promise<string> {
  const url = new URL("../../../compiled/src/trade/transaction/proof-of-work.js", import.meta.url);
  const source = `
    import { readdirSync, readFileSync } from "node:fs";
    import { availableParallelism } from "node:os";
    import { setTimeout as sleep } from "node:timers/promises";
    import { solve } from ${JSON.stringify(url)};
    const task = { blockHash: "b", tid: "t" };
    const threads = () => readdirSync("/proc/self/task");
    const ticks = () => new Map(threads().map((id) => {
      const fields = readFileSync("/proc/self/task/" + id + "/stat", "latin1").replace(/^.*\\) /s, "").split(" ");
      return [id, Number(fields[11])];
    }));
    ${script}`;
  return (await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", source])).stdout.trim();
}

const onLinux = process.platform === "linux" ? describe : describe.skip;

onLinux("the threads of searches", () => {
  test("end when they have been idle for some seconds, and are started again", async () => {
    const script = `
      const before = threads().length;
      const search = () => solve({ ...task, difficulty: 18, threads: 3 });
      const { nonce } = await search();
      const started = threads().length - before;
      for (let waited = 0; waited < 240 && threads().length > before; waited += 1) await sleep(500);
      const idle = threads().length - before;
      console.log(started >= 3, idle <= 0, (await search()).nonce === nonce);`;
    expect(await run(script)).toBe("true true true");
  });

  test("that work by default are no more than the processors, whatever ran before", async () => {
    const script = `
      await solve({ ...task, difficulty: 18, threads: availableParallelism() + 3 });
      const before = ticks();
      await Promise.all([1, 2, 3].map((tid) => solve({ blockHash: "b", tid: String(tid), difficulty: 21 })));
      const after = [...ticks()].filter(([id]) => id !== String(process.pid));
      console.log(after.filter(([id, count]) => count - (before.get(id) ?? 0) > 8).length <= availableParallelism());`;
    expect(await run(script)).toBe("true");
  });
});
