// Slow, and worth it: an error may stand behind any byte of an archive.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, crc32, inflateRawSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, type ErrorObject, type NetworkHistoryExport, NodeError, openArchive } from "tradewire";
import { cutEvery } from "../../support/archives.js";
import { serveExport } from "../../support/export-server.js";
import { rawZip } from "../../support/raw-zip.js";
import { sample } from "../../support/tier.js";

const request = { table: "trades", fromBlock: 1, toBlock: 2000 } as const;
const text = (from: number) =>
  `id,note\n${Array.from({ length: 1500 }, (_, n) => `${from + n},"a {""error"":1} ${(from + n) ** 5}"\n`).join("")}`;
const names = ["c-trades-1-1-1000.csv", "c-trades-2-1001-2000.csv"];
const archive = rawZip(
  names.map((name, index) => ({ name, content: text(index * 1500), descriptor: { signed: true, wide: false } })),
);
const failures: readonly ErrorObject[] = [
  { code: Code.Internal, message: "no segment", details: [] },
  {
    code: Code.Internal,
    message: `{"error":{}} "${"é\n\\".repeat(15_000)}`,
    details: [{ "@type": "type.googleapis.com/vega.ErrorDetail", code: 1, message: "x", inner: '{"error":' }],
  },
];
const object = (index: number) => Buffer.from(JSON.stringify({ error: failures[index] }));

/** How many rows are whole in the first `size` bytes of the archive. */
function rowsBefore(size: number): number {
  let rows = 0;
  const second = archive.indexOf("PK\x03\x04", 4);
  for (const [from, to, name = ""] of [
    [0, second, names[0]],
    [second, archive.indexOf("PK\x01\x02", second), names[1]],
  ] as const) {
    const data = archive.subarray(from + 30 + name.length, Math.min(size, to - 16));
    if (size > from + 30 + name.length) {
      const lines = inflateRawSync(data, { finishFlush: constants.Z_SYNC_FLUSH }).toString("latin1").split("\n").length;
      rows += Math.max(lines - 2, 0);
    }
  }
  return rows;
}

/** 120 places all over the archive, those around its records included. */
const places = [
  ...new Set([
    ...Array.from({ length: 100 }, (_, index) => Math.floor((index * archive.length) / 100)),
    ...[0, archive.indexOf("PK\x03\x04", 4), archive.indexOf("PK\x01\x02"), archive.length - 22].flatMap((at) =>
      [-17, -1, 1, 5, 29].map((by) => Math.min(Math.max(at + by, 0), archive.length)),
    ),
    archive.length,
  ]),
];

async function taken<T>(values: AsyncIterable<T>): Promise<{ all: T[]; error: unknown }> {
  const all: T[] = [];
  try {
    for await (const value of values) {
      all.push(value);
    }
  } catch (error) {
    return { all, error };
  }
  return { all, error: undefined };
}

async function exporting(body: Buffer, pieceSize: number, run: (exported: NetworkHistoryExport) => Promise<void>) {
  const chunks = [{ contentType: "application/zip", data: body }];
  await using server = await serveExport("raw", { chunks, pieceSize });
  await using client = createClient({ transport: "rest", rest: { url: server.url } });
  await run(client.exportNetworkHistory(request));
}

function isOf(index: number, error: unknown): void {
  expect(error).toBeInstanceOf(NodeError);
  expect(error).toMatchObject({ object: failures[index] });
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-behind-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe.each([
  ["short", 0],
  ["60 KiB", 1],
])("a node that fails inside an export with an error text of %s", (_, index) => {
  it("gives the rows before the cut and then its error, wherever the cut is", async () => {
    expect(places.length).toBeGreaterThanOrEqual(100);
    for (const [number, place] of sample(places, 4).entries()) {
      const body = Buffer.concat([archive.subarray(0, place), object(index)]);
      await exporting(body, [0, 7001, 997][number % 3] ?? 0, async (exported) => {
        const { all, error } = await taken(exported.rows());
        expect([place, all.length]).toEqual([place, rowsBefore(place)]);
        expect(all.every((row, id) => row["id"] === String(id))).toBe(true);
        isOf(index, error);
      });
    }
  });

  it("gives no byte of its error, and saves nothing", async () => {
    for (const place of sample(
      places.filter((_place, number) => number % 6 === 0),
      2,
    )) {
      const body = Buffer.concat([archive.subarray(0, place), object(index)]);
      await exporting(body, 5000, async (exported) => {
        const bytes = await taken(exported.bytes());
        expect(Buffer.concat(bytes.all).equals(archive.subarray(0, place))).toBe(true);
        isOf(index, bytes.error);
        isOf(index, (await taken(exported.rows({ columns: "union" }))).error);
        isOf(index, await exported.saveTo(folder).catch((reason: unknown) => reason));
        isOf(index, await exported.toZip().catch((reason: unknown) => reason));
        expect(await readdir(folder)).toEqual([]);
        isOf(index, (await taken(openArchive(body).files())).error);
      });
    }
  });
});

describe.each([
  ["signed", { signed: true, wide: false }],
  ["unsigned", { signed: false, wide: false }],
  ["ZIP64's", { signed: true, wide: true }],
])("a node that fails inside an export of stored files with %s descriptors", (_, descriptor) => {
  const contents = [text(0), text(1500)];
  const entries = names.map((name, index) => ({ name, content: contents[index] ?? "", descriptor, stored: true }));
  const stored = rawZip(entries);

  /** How many lines are whole in the first `size` bytes of the archive, headers apart. */
  const wholeRows = (size: number) => {
    const lines = contents.map((content) => {
      const from = stored.indexOf(content);
      return stored
        .subarray(from, Math.min(Math.max(size, from), from + content.length))
        .toString()
        .split("\n").length;
    });
    return lines.reduce((rows, count) => rows + Math.max(count - 2, 0), 0);
  };

  it("gives exactly the rows before the cut and then its error, wherever the cut is", async () => {
    const second = stored.indexOf("PK\x03\x04", 4);
    const directory = stored.indexOf("PK\x01\x02");
    const around = [second, directory].flatMap((at) => Array.from({ length: 60 }, (_x, index) => at - 50 + index));
    const all = Array.from({ length: 60 }, (_x, index) => Math.floor((index * stored.length) / 60));
    for (const [number, place] of sample([...all, ...around], 4, 1).entries()) {
      const body = Buffer.concat([stored.subarray(0, place), object(number % 2)]);
      const pieces = cutEvery(body, [body.length, 7001, 997][number % 3] ?? 0);
      const rows = await taken(openArchive(stream(pieces)).rows());
      expect([place, rows.all.length]).toEqual([place, wholeRows(place)]);
      expect(rows.all.every((row, id) => row["id"] === String(id))).toBe(true);
      isOf(number % 2, rows.error);
    }
  });
});

it("a descriptor that is cut is not given as rows, though it looks like some", async () => {
  const ids = Array.from({ length: 10_000 }, (_, id) => id);
  const id = ids.find((each) => (crc32(`id\n${each}\n`) & 0xff) === 0x0a); // The checksum begins with a line's end.
  const content = `id\n${id}\n`;
  for (const wide of [false, true]) {
    const descriptor = { signed: false, wide };
    const whole = rawZip(names.map((name) => ({ name, content, descriptor, stored: true })));
    const end = whole.indexOf(content) + content.length;
    for (let size = 0; size <= (wide ? 24 : 16); size += 1) {
      const pieces = [whole.subarray(0, end + size), object(0)];
      const { all, error } = await taken(openArchive(stream(pieces)).rows());
      expect([size, all]).toEqual([size, [{ id: String(id) }]]);
      isOf(0, error);
    }
  }
});

it.each([
  ["narrow", { signed: true, wide: false }],
  ["ZIP64's", { signed: true, wide: true }],
])("a descriptor of a stored file that does not fit is not given as rows: %s", async (_, descriptor) => {
  const content = "id,note\n0,x\n1,y\n";
  const wrong = rawZip(names.map((name) => ({ name, content, descriptor, stored: true, crc: 0x0a0a0a0a })));
  const { all, error } = await taken(openArchive(stream([wrong, object(0)])).rows());
  expect(all).toEqual([
    { id: "0", note: "x" },
    { id: "1", note: "y" },
  ]);
  isOf(0, error);
});

async function* stream(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
