import { create } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type TableName, tableNames } from "tradewire";
import { DepositSchema, OrderSchema, PositionSchema } from "tradewire/gen/vega/vega_pb.js";
import { createHistory, type History, type HistoryOptions } from "../../../src/node/history/history.js";
import {
  type Block,
  type BlockEvent,
  blockRows,
  csvRow,
  type Event,
  type GeneratedHistory,
  generateHistory,
} from "./inside.js";

const options = { chainId: "devnode-1", segments: 4, blocksPerSegment: 50 };
const made = (more: Partial<HistoryOptions> = {}) =>
  createHistory({ ...options, generated: generateHistory({ blocks: 200 }), ...more });

async function text(history: History, table: TableName, index: number): Promise<string> {
  const pieces = [];
  const segment = history.segments()[index];
  for await (const piece of segment === undefined ? [] : history.read(table, segment)) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** A block of the test's own: one every second after the history. */
function block(height: bigint): Block {
  return { height, hash: "b".repeat(64), time: 1_700_000_000_000_000_000n + height * 1_000_000_000n };
}

function happenings(at: Block, events: readonly Event[]): BlockEvent[] {
  return events.map((event, index) => ({ block: at, sequence: index + 1, txHash: "c".repeat(64), event }));
}

const id = (digit: string) => digit.repeat(64);
const order = (reference: string): Event => ({
  case: "order",
  value: create(OrderSchema, { id: id("1"), marketId: id("2"), partyId: id("3"), price: "7", reference }),
});
const position = (partyId: string, openVolume: bigint): Event => ({
  case: "position",
  value: create(PositionSchema, { partyId, marketId: id("2"), openVolume }),
  entryPriceInAsset: "0",
});
const deposit = (digit: string): Event => ({
  case: "deposit",
  value: create(DepositSchema, { id: id(digit), partyId: id("3"), asset: id("4"), amount: "5" }),
});

describe("the made-up segments", () => {
  it("follow one another, each knowing the one before, with the versions that are set", () => {
    const segments = made().segments();
    expect(
      segments.map(({ fromHeight, toHeight, databaseVersion }) => [fromHeight, toHeight, databaseVersion]),
    ).toEqual([
      [1n, 50n, 115n],
      [51n, 100n, 115n],
      [101n, 150n, 115n],
      [151n, 200n, 116n],
    ]);
    expect(segments.map(({ previousId }) => previousId)).toEqual(["", ...segments.slice(0, -1).map((s) => s.id)]);
    expect(new Set(segments.map(({ id: own }) => own)).size).toBe(4);
    // As the data node lists them: a content identifier of IPFS, version 0, in base58 of Bitcoin's alphabet.
    expect(segments[0]).toMatchObject({
      id: expect.stringMatching(/^Qm[1-9A-HJ-NP-Za-km-z]{44}$/),
      chainId: "devnode-1",
    });
    expect(
      made({ schemaVersions: [3, 7] })
        .segments()
        .map(({ databaseVersion }) => databaseVersion),
    ).toEqual([3n, 7n, 7n, 7n]);
  });

  it("have identifiers that tell what they hold", () => {
    const ids = (more: Partial<HistoryOptions>) =>
      made(more)
        .segments()
        .map((segment) => segment.id);
    const usual = ids({});
    expect(ids({})).toEqual(usual);
    expect(ids({ chainId: "devnode-2" })[0]).not.toBe(usual[0]);
    const changed = ids({ schemaVersions: [115, 116] });
    expect(changed[0]).toBe(usual[0]);
    expect(changed[1]).not.toBe(usual[1]);
    const row = { vega_time: "2023-10-19 08:01:00+00", height: 60, hash: id("a") };
    const own = ids({ genesis: { blocks: [row] } });
    expect(own).not.toEqual(usual);
    expect(ids({ genesis: { blocks: [{ ...row, height: 61 }] } })[1]).not.toBe(own[1]);
  });

  it("are listed at once, however many they are", () => {
    const generated = generateHistory({ blocks: 100_000_000n });
    const segments = createHistory({ generated, chainId: "x", segments: 100_000, blocksPerSegment: 1000 }).segments();
    expect(segments).toHaveLength(100_000);
    expect(segments.at(-1)).toMatchObject({ fromHeight: 99_999_001n, toHeight: 100_000_000n, databaseVersion: 116n });
  });

  it.each(tableNames)("have the rows of %s that the blocks bring", async (table) => {
    const generated = generateHistory({ blocks: 200 });
    const rows = Array.from({ length: 50 }, (_, index) =>
      blockRows(table, generated.events(table, 151n + BigInt(index))),
    );
    const lines = rows.flat().map(csvRow(table, 116));
    const csv = await text(made(), table, 3);
    expect(csv).toHaveLength(lines.join("").length);
    for (const line of lines) {
      expect(csv).toContain(line);
    }
  });

  it("have rows in the order of the primary key, which may begin with the identifier", async () => {
    const ids = (await text(made(), "deposits", 1)).split("\n").map((line) => line.split(",")[0] ?? "");
    expect(ids.slice(0, -1)).toEqual(ids.slice(0, -1).toSorted());
    expect(ids).toHaveLength(51);
    const heights = (await text(made(), "blocks", 1)).trimEnd().split("\n");
    expect(heights.map((line) => Number(line.split(",")[1]))).toEqual(Array.from({ length: 50 }, (_, n) => 51 + n));
  });

  it("are read in pieces, and no further than is asked for", async () => {
    const real = generateHistory({ blocks: 20_000 });
    let asked = 0;
    let abort = new AbortController();
    const generated: GeneratedHistory = {
      ...real,
      events(table, height) {
        asked += 1;
        if (asked === 100) {
          abort.abort(new Error("enough"));
        }
        return real.events(table, height);
      },
    };
    const history = createHistory({ generated, chainId: "x", segments: 1, blocksPerSegment: 20_000 });
    const [segment] = history.segments();
    for (const table of ["trades", "markets"] as const) {
      abort = new AbortController();
      const reading = segment && history.read(table, segment, abort.signal);
      const first = reading?.next();
      const outcome = (async () => {
        await first;
        for await (const piece of reading ?? []) {
          expect(piece.length).toBeLessThan(200_000);
        }
      })();
      await expect(outcome).rejects.toThrow("enough");
      expect(asked).toBeLessThan(20_000);
      asked = 0;
    }
  });
});

describe("blocks that are made", () => {
  let history: History;
  beforeAll(() => {
    history = made();
  });

  it("become a segment when there are enough of them", async () => {
    for (let height = 201n; height < 250n; height += 1n) {
      history.record(block(height), happenings(block(height), height === 210n ? [order("a,b")] : []));
    }
    expect(history.segments()).toHaveLength(4);
    history.record(
      block(250n),
      happenings(block(250n), [position(id("9"), 1n), position(id("8"), 2n), position(id("9"), 3n)]),
    );
    const [before, live] = history.segments().slice(-2);
    expect(live).toMatchObject({ fromHeight: 201n, toHeight: 250n, databaseVersion: 116n, previousId: before?.id });
    const blocks = (await text(history, "blocks", 4)).split("\n");
    expect(blocks).toHaveLength(51);
    expect(blocks[0]).toBe(`2023-11-14 22:16:41+00,201,\\x${id("b")}`);
    expect(await text(history, "orders", 4)).toBe(
      `\\x${id("1")},\\x${id("2")},\\x${id("3")},0,7,0,0,0,0,0,"a,b",,0,0,,,,1970-01-01 00:00:00+00,,,` +
        `\\x${id("c")},2023-11-14 22:16:50+00,1,f,f,,,\n`,
    );
    expect(await text(history, "trades", 4)).toBe("");
    // Of two states of a position in a block the last one is kept.
    const volumes = (await text(history, "positions", 4)).split("\n").map((line) => line.split(",").slice(1, 3));
    expect(volumes).toEqual([[`\\x${id("8")}`, "2"], [`\\x${id("9")}`, "3"], []]);
  });

  it("are refused out of their order", () => {
    expect(() => history.record(block(250n), [])).toThrow(new RangeError("block 250 does not follow block 250"));
    expect(() => history.record(block(252n), [])).toThrow(RangeError);
  });

  it("have rows in the order of the primary key through the whole segment", async () => {
    const other = made();
    for (let height = 201n; height <= 250n; height += 1n) {
      other.record(
        block(height),
        happenings(block(height), height % 10n === 0n ? [deposit(String(9n - (height % 9n)))] : []),
      );
    }
    const ids = (await text(other, "deposits", 4))
      .trimEnd()
      .split("\n")
      .map((line) => line.slice(2, 3));
    expect(ids).toEqual(["2", "3", "4", "5", "6"]);
  });

  it("keep many rows as they were", async () => {
    const other = made({ segments: 4 });
    const references = Array.from({ length: 40 }, (_, n) => `${"x".repeat(200)} ${n}`);
    for (let height = 201n; height <= 250n; height += 1n) {
      other.record(block(height), happenings(block(height), references.map(order)));
    }
    const lines = (await text(other, "orders", 4)).trimEnd().split("\n");
    expect(lines).toHaveLength(2000);
    expect(lines.map((line) => line.split(",")[10])).toEqual(Array.from({ length: 50 }, () => references).flat());
  });

  it("go back to what was kept, as often as it is asked for", async () => {
    const other = made();
    const fill = (until: bigint, from: bigint, reference: string) => {
      for (let height = from; height <= until; height += 1n) {
        other.record(block(height), happenings(block(height), [order(reference)]));
      }
    };
    fill(240n, 201n, "first");
    const kept = other.save();
    fill(310n, 241n, "second");
    const [one, two] = [other.segments().at(-1)?.id, await text(other, "orders", 4)];
    expect(other.segments()).toHaveLength(6);
    for (const _ of [1, 2]) {
      other.restore(kept);
      expect(other.segments()).toHaveLength(4);
      fill(310n, 241n, "second");
      expect([other.segments().at(-1)?.id, await text(other, "orders", 4)]).toEqual([one, two]);
    }
    const [gone] = other.segments().slice(-1);
    other.restore(kept);
    await expect(gone && other.read("orders", gone).next()).rejects.toThrow(RangeError);
    fill(310n, 241n, "third");
    await expect(gone && other.read("orders", gone).next()).rejects.toThrow("is not, or no longer, in this history");
    expect(other.segments()).toHaveLength(6);
    expect(other.segments().at(-1)?.id).not.toBe(one);
    expect(await text(other, "orders", 4)).not.toBe(two);
  });
});

describe("what is recorded", () => {
  const references = Array.from({ length: 300 }, (_, index) => `reference ${index * 7919}`);
  const record = (history: History, from: bigint, to: bigint) => {
    for (let height = from; height <= to; height += 1n) {
      history.record(block(height), happenings(block(height), references.map(order)));
    }
  };

  it("makes room for what comes later, and the history then begins later", async () => {
    const unlimited = made();
    record(unlimited, 201n, 500n);
    expect(unlimited.segments()).toHaveLength(10);
    const history = made({ maxRecordedBytes: 1 });
    record(history, 201n, 250n);
    expect(history.segments()).toHaveLength(5);
    const kept = history.save();
    record(history, 251n, 500n);
    expect(history.segments()).toEqual(unlimited.segments().slice(-1));
    expect(await text(history, "orders", 0)).toBe(await text(unlimited, "orders", 9));
    await expect(async () => {
      const [gone] = unlimited.segments().slice(-2);
      for await (const _ of gone === undefined ? [] : history.read("orders", gone)) {
      }
    }).rejects.toThrow("is not, or no longer, in this history");
    history.restore(kept);
    expect(history.segments()).toEqual(unlimited.segments().slice(0, 5));
  });
});
