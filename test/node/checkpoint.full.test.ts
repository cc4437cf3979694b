import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { types } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { DevnodeOptions } from "tradewire/devnode";
import { openCheckpoints } from "../../src/node/checkpoint.js";
import {
  createControls,
  createFailureInjector,
  createLocalNetwork,
  type LocalNetwork,
  openJournal,
  parseDevnodeOptions,
} from "./inside.js";

const small = { segments: 2, blocksPerSegment: 5, blockMs: 0, activity: 2 } as const;
const STATE = "checkpoint/state";

let root: string;
let made = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tradewire-checkpoint-"));
});
afterAll(() => rm(root, { recursive: true }));
const newFolder = () => {
  made += 1;
  const folder = join(root, String(made));
  mkdirSync(folder);
  return folder;
};

/** A node of a folder, and how many blocks its start made again. */
function open(folder: string, more: DevnodeOptions = {}, maxReplayMs = 1e9) {
  const options = parseDevnodeOptions({ ...small, ...more });
  const { settings, genesis } = options;
  const journal = openJournal(folder, settings);
  const checkpoints = openCheckpoints(folder, { settings, genesis }, journal, { maxReplayMs });
  const network = createLocalNetwork(options);
  let replayed = 0;
  const counted: LocalNetwork = {
    ...network,
    replay(block) {
      replayed += 1;
      network.replay(block);
    },
  };
  const controls = createControls(counted, createFailureInjector([]), { journal, checkpoints }, () => false);
  const close = () => {
    controls.finish();
    journal[Symbol.dispose]();
  };
  return { network, journal, controls, replayed, close, [Symbol.dispose]: () => journal[Symbol.dispose]() };
}

type Opened = ReturnType<typeof open>;
const run = async ({ controls }: Opened, blocks: number) => {
  for (let block = 0; block < blocks; block += 1) {
    await controls.makeBlock();
  }
};

/** What a network tells, and a hash of all that it knows. */
function known({ network }: Opened) {
  const { world, history, engine } = network;
  const told = {
    orders: [...world.orders.read(true)].slice(0, 50),
    trades: [...world.trades.read(true)].slice(0, 50),
    stopOrders: world.stopOrders.size,
    segments: history.segments(),
    depth: [...world.markets.keys()].map((id) => engine.depth(id, 2)),
  };
  const state = JSON.stringify(network.save(), (_, value: unknown) => {
    const listed = types.isMap(value) || types.isSet(value) ? [...value] : value;
    return typeof listed === "bigint" ? `${listed}n` : listed;
  });
  return { ...structuredClone(told), hash: createHash("sha256").update(state).digest("hex") };
}

let first: { readonly folder: string; readonly left: unknown } | undefined;

/** A folder of 23 blocks, of a node that was closed. */
async function filled(): Promise<{ readonly folder: string; readonly left: unknown }> {
  if (first === undefined) {
    const folder = newFolder();
    using node = open(folder);
    await run(node, 23);
    first = { folder, left: known(node) };
    node.close();
  }
  const folder = newFolder();
  cpSync(first.folder, folder, { recursive: true });
  return { folder, left: first.left };
}

describe("a restart", () => {
  it("goes on where the node was closed, and makes no block again", async () => {
    const { folder, left } = await filled();
    const copy = newFolder();
    cpSync(folder, copy, { recursive: true });
    rmSync(join(copy, STATE));
    using node = open(folder);
    expect(node.replayed).toBe(0);
    expect(known(node)).toEqual(left);
    // A node that makes all blocks again is the same one, and stays the same.
    using other = open(copy);
    expect(other.replayed).toBe(23);
    expect(known(other)).toEqual(left);
    for (const time of [1n, 2n, 3n, 4n, 5n].map((second) => node.network.blocks.last().time + second * 10n ** 9n)) {
      node.network.makeBlock(time);
      other.network.makeBlock(time);
    }
    expect(known(node)).toEqual(known(other));
    node.controls.reset();
    expect(node.network.blocks.last().height).toBe(10n);
    expect(node.network.history.segments()).toHaveLength(2);
    expect(existsSync(join(folder, STATE))).toBe(false);
  });

  it("makes those blocks again that came since the network was kept", async () => {
    const { folder } = await filled();
    let left: unknown;
    {
      using node = open(folder);
      await run(node, 4);
      left = known(node); // Not closed: only the folder is let go.
    }
    using node = open(folder);
    expect(node.replayed).toBe(4);
    expect(known(node)).toEqual(left);
  });

  it("is kept short: the network is kept each time the blocks since have taken so long", async () => {
    const folder = newFolder();
    {
      using node = open(folder, {}, 0.001);
      await run(node, 3);
    }
    using node = open(folder);
    expect(node.replayed).toBeLessThan(3);
    expect(node.network.blocks.last().height).toBe(13n);
  });

  it("leaves no files of segments that are no more", async () => {
    const { folder } = await filled();
    const segments = () => readdirSync(join(folder, "checkpoint")).filter((name) => name.startsWith("segment-"));
    const before = segments();
    expect(before).toHaveLength(4);
    using node = open(folder);
    node.controls.reset();
    await run(node, 6);
    node.close();
    expect(segments()).toHaveLength(1);
    expect(before).not.toContain(segments()[0]);
  });
});

it("a node that was closed leaves the folder to others", async () => {
  const { folder } = await filled();
  using node = open(folder);
  node.close();
  expect(() => node.controls.reset()).toThrow("the node of the folder is closed");
  using other = open(folder);
  expect(other.replayed).toBe(0);
});

describe("what is kept counts for nothing, and the blocks are made again,", () => {
  const change = (path: string, at: number) => {
    const bytes = readFileSync(path);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  };
  const segmentOf = (folder: string) =>
    join(folder, "checkpoint", readdirSync(join(folder, "checkpoint")).find((name) => name !== "state") ?? "");

  it.each([
    ["a byte of it was changed", (folder: string) => change(join(folder, STATE), 5000)],
    ["its hash was changed", (folder: string) => change(join(folder, STATE), 3)],
    ["it was cut", (folder: string) => truncateSync(join(folder, STATE), 5000)],
    ["it is empty", (folder: string) => truncateSync(join(folder, STATE), 0)],
    ["a segment is missing", (folder: string) => rmSync(segmentOf(folder))],
    ["a segment was changed", (folder: string) => change(segmentOf(folder), 100)],
  ])("where %s", async (_, damage) => {
    const { folder, left } = await filled();
    damage(folder);
    using node = open(folder);
    expect(node.replayed).toBe(23);
    expect(known(node)).toEqual(left);
  });

  it("where the rows of one's own are others", async () => {
    const { folder } = await filled();
    using node = open(folder);
    expect(node.replayed).toBe(0);
    node[Symbol.dispose]();
    const own = newFolder();
    const genesis = (hash: string) => ({
      checkpoints: [{ hash, block_hash: "", block_height: 7, tx_hash: "00".repeat(32), seq_num: 1 }].map((row) => ({
        ...row,
        vega_time: "2023-10-19T08:00:07Z",
      })),
    });
    {
      using first = open(own, { genesis: genesis("c1") });
      await run(first, 3);
      first.close();
    }
    using same = open(own, { genesis: genesis("c1") });
    expect(same.replayed).toBe(0);
    same[Symbol.dispose]();
    using other = open(own, { genesis: genesis("c2") });
    expect(other.replayed).toBe(3);
  });

  it("where the blocks end before it, or are others", async () => {
    const { folder } = await filled();
    const path = join(folder, "blocks.jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    writeFileSync(path, lines.slice(0, 21).join("\n").concat("\n"));
    {
      using node = open(folder);
      expect(node.replayed).toBe(20);
    }
    // As long as before, with another time in the last block.
    const last = (lines[23] ?? "").replace(/\d"(?=,"transactions)/, (digit) => `${(Number(digit[0]) + 1) % 10}"`);
    writeFileSync(path, [...lines.slice(0, 23), last, ""].join("\n"));
    using node = open(folder);
    expect(node.replayed).toBe(23);
  });
});

it("a node that is killed at any moment comes back with the blocks that it had made", async () => {
  const folder = newFolder();
  const options = { ...small, activity: 5 };
  let reached = 10n;
  for (let turn = 0; turn < 8; turn += 1) {
    const args = [resolve("test/support/killed-node.mjs"), folder, JSON.stringify(options)];
    const child: ChildProcess = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "close");
    let seen = 0;
    for await (const line of child.stdout === null ? [] : createInterface({ input: child.stdout })) {
      const height = BigInt(line);
      if (seen === 0) {
        expect(height).toBeGreaterThanOrEqual(reached);
      }
      reached = height > reached ? height : reached;
      seen += 1;
      if (seen === 5 + turn) {
        setTimeout(() => child.kill("SIGKILL"), (turn * 13) % 29); // Anywhere in a block, or in what is kept of it.
      }
    }
    expect((await ended)[1]).toBe("SIGKILL");
  }
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true });
  rmSync(join(copy, STATE), { force: true });
  using node = open(folder, options);
  using other = open(copy, options);
  expect(node.network.blocks.last().height).toBeGreaterThanOrEqual(reached);
  expect(node.replayed).toBeLessThan(other.replayed);
  expect(known(node)).toEqual(known(other));
});
