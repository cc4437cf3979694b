import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type Running, run, startCommand } from "../support/command.js";
import { eventually } from "../support/eventually.js";
import { sample } from "../support/tier.js";

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 6, blocksPerSegment: 20, blockMs: 0, activity: 1, chainId: "signals-1" });
  folder = await mkdtemp(join(tmpdir(), "tradewire-signals-"));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const args = (name: string, ...more: string[]) => [
  ...["sync", "--grpc-url", node.grpcUrl, "--to", `parquet:${name}`, "--parallel", "1"],
  ...more,
];

/** Four of the tables, so that what is loaded after the signal takes no long time. */
const some = ["blocks", "trades", "orders", "balances"].flatMap((table) => ["--table", table]);
/** How many units these have. */
const UNITS = 4 * 6;

/** Starts a sync that prints events, and waits for one. */
async function until(event: string, name: string, ...more: string[]): Promise<Running> {
  const running = startCommand(args(name, ...more), { cwd: folder });
  let seen = "";
  const came = new Promise<void>((resolve) => {
    running.stdout.on("data", (bytes: Buffer) => {
      seen += bytes.toString();
      if (seen.includes(`"event":"${event}"`)) {
        resolve();
      }
    });
  });
  await Promise.race([
    came,
    running.ended.then(({ out, err }) => {
      throw new Error(`there was no ${event}: ${out}${err}`);
    }),
  ]);
  return running;
}

const last = (out: string): Record<string, unknown> => JSON.parse(out.trimEnd().split("\n").at(-1) ?? "");

describe("a sync that is stopped", () => {
  // Those that the quick tier leaves out end a sync that follows below.
  const signals = [
    ["SIGINT", 130],
    ["SIGQUIT", 131],
    ["SIGHUP", 129],
    ["SIGTERM", 143],
  ] as const;
  it.each(sample(signals, 2, 1))(
    "by %s ends with %d, leaves nothing half, and is gone on with",
    async (signal, exitCode) => {
      const running = await until("loaded", signal, ...some);
      running.interrupt(signal);
      const { code, out } = await running.ended;
      expect(code).toBe(exitCode);
      const stopped = last(out);
      expect(stopped).toMatchObject({ event: "interrupted" });
      const before = Number(stopped["units"]);
      expect(before).toBeGreaterThan(0);
      expect(before).toBeLessThan(UNITS);
      const after = await run(args(signal, ...some), { cwd: folder });
      expect(after.code).toBe(0);
      expect(last(after.out)).toMatchObject({ event: "summary", units: UNITS - before });
      const verified = await run(["sync", "verify", "--to", `parquet:${signal}`, "--json"], { cwd: folder });
      expect(verified.code).toBe(0);
      expect(last(verified.out)).toMatchObject({ units: UNITS, unsound: 0 });
    },
  );

  it.each([
    ["SIGTERM", 0],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)("while it follows, by %s, ends with %d", async (signal, code) => {
    const running = await until("idle", `follow-${signal}`, "--follow", "--table", "blocks");
    running.interrupt(signal);
    expect(await running.ended).toMatchObject({ code, err: "" });
  });

  it("says in words how to go on", async () => {
    const running = startCommand(args("words", "-o", "table"), { cwd: folder });
    await eventually(async () => (await readdir(folder)).includes("words"));
    running.interrupt("SIGINT");
    const { code, out, err } = await running.ended;
    expect({ code, out }).toEqual({ code: 130, out: "" });
    expect(err).toMatch(
      /\nInterrupted: \d+ exports were loaded; exports in flight were canceled and rolled back\.\nRun the same command again to continue\.\n$/,
    );
  });
});
