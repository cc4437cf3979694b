import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, type TableName } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { taken } from "../support/taken.js";

const SEGMENTS = 40;
const BLOCKS = 10;
const TABLES: readonly TableName[] = ["blocks", "checkpoints", "delegations", "trades"];

/** Make numbers from 0 to 1 that follow from a seed. */
function seeded(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return state / 2 ** 32;
  };
}

/** How many rows a block has, at a place from 0 to 1 in the history; `random` is the same for all blocks of a segment. */
type Shape = (place: number, random: number) => number;

const shapes: readonly [name: string, shape: Shape, activity: number][] = [
  ["even", () => 8, 0],
  ["scattered", (_, random) => 20 * random, 0],
  ["growing", (place) => 20 * place, 3],
  ["shrinking", (place) => 20 * (1 - place), 0],
  ["growing ever faster", (place) => Math.exp(4 * place) / 2, 5],
  [
    "with a long tail",
    (_, random) => Math.min(80, 2 * Math.exp(1.2 * Math.sqrt(-2 * Math.log(1 - random * 0.999)))),
    0,
  ],
  ["quiet, then busy", (place) => (place < 0.55 ? 1 : 25), 0],
  ["in bursts", (_, random) => (random < 0.3 ? 40 : 1), 2],
  ["in waves", (place) => 10 + 9 * Math.sin(place * 20), 0],
  ["with one peak", (place) => (place > 0.6 && place < 0.63 ? 100 : 3), 0],
];

let folder: string;
let times: readonly string[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-estimate-"));
  await using node = await startDevnode({ segments: SEGMENTS, blocksPerSegment: BLOCKS, blockMs: 0 });
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  const blocks = client.exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: SEGMENTS * BLOCKS });
  times = (await taken(blocks.rows())).values.map((row) => String(row["vega_time"]));
});
afterAll(() => rm(folder, { recursive: true }));

/** Start a node whose history has a shape. With activity, it goes on with trades. */
async function nodeOf(shape: Shape, seed: number, activity: number): Promise<Devnode> {
  const random = seeded(seed);
  const bySegment = Array.from({ length: SEGMENTS }, random);
  const rows = times.flatMap((time, at) => {
    const count = Math.round(shape(at / times.length, bySegment[Math.floor(at / BLOCKS)] ?? 0));
    return Array.from({ length: count }, (_, number) => ({ vega_time: time, seq_num: number, tx_hash: "\\x01" }));
  });
  const checkpoints = rows.map((row, at) => ({
    ...row,
    hash: "h".repeat(at % 60),
    block_hash: "b",
    block_height: at + 1,
  }));
  const delegations = rows.map((row, at) => ({
    ...{
      ...row,
      party_id: `\\x${Math.floor(random() * 2 ** 32)
        .toString(16)
        .padStart(8, "0")}`,
    },
    ...{ node_id: "\\x02", epoch_id: at, amount: String(at) },
  }));
  const genesis = { checkpoints, delegations };
  const node = await startDevnode({ segments: SEGMENTS, blocksPerSegment: BLOCKS, blockMs: 0, activity, genesis });
  for (let block = 0; block < (activity === 0 ? 0 : 8 * BLOCKS); block += 1) {
    await node.makeBlock();
  }
  return node;
}

/** Count the bytes that the node sends for a sync. */
async function sentBytes(node: Devnode): Promise<number> {
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  let sum = 0;
  for (const { fromHeight: fromBlock, toHeight: toBlock } of await client.listSegments()) {
    for (const table of TABLES) {
      const parts = await taken(client.exportNetworkHistory({ table, fromBlock, toBlock }).bytes());
      sum += parts.values.reduce((size, part) => size + part.length, 0);
    }
  }
  return sum;
}

interface Range {
  readonly low: number;
  readonly high: number;
}

const isWithin = (value: number, { low, high }: Range) => low <= value && value <= high;

describe("an estimate", () => {
  it("holds in at least nine of ten histories of different shapes", async () => {
    const wrong: string[] = [];
    for (const [seed, [name, shape, activity]] of shapes.entries()) {
      const file = join(folder, `${seed}.duckdb`);
      await using node = await nodeOf(shape, seed, activity);
      const sync = [
        "sync",
        "--grpc-url",
        node.grpcUrl,
        "--table",
        TABLES.join(),
        "--to",
        `duckdb:${file}`,
        "-o",
        "jsonl",
      ];
      const { code, out, err } = await run([...sync, "--estimate"]);
      expect([code, err]).toEqual([0, ""]);
      const { total, cost, targetBytes } = JSON.parse(out);
      expect(cost.exports).toBe(7 * TABLES.length);
      expect(total.rows.high / total.rows.low).toBeLessThan(name === "even" ? 1.2 : 12);
      const startedAt = performance.now();
      const done = JSON.parse((await run(sync)).out.trim().split("\n").at(-1) ?? "");
      const seconds = (performance.now() - startedAt) / 1000;
      const facts: readonly (readonly [what: string, value: number, range: Range])[] = [
        ["calls", done.units, { low: total.calls, high: total.calls }],
        ["rows", Number(done.rows), total.rows],
        ["CSV", Number(done.bytes), total.csvBytes],
        ["ZIP", await sentBytes(node), total.zipBytes],
        ["seconds", seconds, total.seconds],
        ["target", (await stat(file)).size, targetBytes],
      ];
      const missed = facts.filter(([, value, range]) => !isWithin(value, range));
      if (missed.length > 0) {
        wrong.push(`${name}: ${JSON.stringify(missed)}`);
      }
    }
    expect(wrong.length <= 1 ? [] : wrong).toEqual([]);
  }, 600_000);
});
