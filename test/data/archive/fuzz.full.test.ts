import { describe, expect, it } from "@jest/globals";
import { decodeCsv, TradewireError } from "tradewire";
import { type ArchiveOutcome, archiveOutcome, streamOf } from "../../support/archive-outcome.js";
import { zipOf } from "../../support/archives.js";
import { type RawEntry, rawZip } from "../../support/raw-zip.js";

/** How many mutated archives and CSV files are read; `test/endurance/fuzz-archives.mjs` reads 100,000. */
const CASES = Number(process.env["FUZZ_CASES"] ?? 400);
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);

const first = 'id,text,n\n1,"x ""y"",\nz",\n2,,""\n3,é😀,5\n';
const second = `id,text,n,more\n${Array.from({ length: 40 }, (_, n) => `${n},text ${n},,"${n}"\n`).join("")}`;
const contents = { "c-trades-1-1-1000.csv": Buffer.from(first), "c-trades-2-1001-2000.csv": Buffer.from(second) };
const raw = (more: Partial<RawEntry>) =>
  rawZip(Object.entries(contents).map(([name, content]) => ({ name, content, ...more })));

/** Numbers that depend on the seed alone. */
function createRandom(seed: number) {
  let state = seed * 2_654_435_769 + 1;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Random = ReturnType<typeof createRandom>;
const records = ["504b0304", "504b0102", "504b0506", "504b0708", "504b0606", "504b0607"].map((hex) =>
  Buffer.from(hex, "hex"),
);

/** Bytes with one mistake in them. */
function mutated(bytes: Buffer, other: Buffer, random: Random): Buffer {
  const at = random(bytes.length);
  const size = 1 + random(random(4) === 0 ? 200 : 8);
  const copy = Buffer.from(bytes);
  switch (random(10)) {
    case 0:
      copy[at] = (copy[at] ?? 0) ^ (1 << random(8));
      return copy;
    case 1:
      copy[at] = [0, 1, 0x22, 0x0a, 0x2c, 0x7f, 0x80, 0xff][random(8)] ?? 0;
      return copy;
    case 2:
      return copy.fill(random(2) === 0 ? 0 : 0xff, at, Math.min(at + 2 ** (1 + random(3)), copy.length));
    case 3:
      return copy.subarray(0, at);
    case 4:
      return Buffer.concat([copy, other.subarray(0, size)]);
    case 5:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at + size)]);
    case 6:
      return Buffer.concat([copy.subarray(0, at + size), copy.subarray(at)]);
    case 7:
      return Buffer.concat([copy.subarray(0, at), other.subarray(random(other.length))]);
    case 8: {
      const record = records[random(records.length)] ?? copy;
      const place = copy.indexOf(records[random(records.length)] ?? record);
      record.copy(copy, place === -1 ? at : place);
      return copy;
    }
    default: {
      // A field of a record: most of the file is content.
      const place = copy.indexOf(records[random(records.length)] ?? copy, random(copy.length));
      const field = (place === -1 ? 0 : place) + 4 + random(42);
      copy[field % copy.length] = random(256);
      return copy;
    }
  }
}

function rowsOf({ files, error }: ArchiveOutcome) {
  return error === undefined ? JSON.stringify(files) : undefined;
}

describe("mutated", () => {
  it(
    "archives give all rows or an error of their own, the same from bytes and from a stream",
    async () => {
      const archives = [
        await zipOf(contents, { streamed: true }),
        await zipOf(contents),
        await zipOf(contents, { forceZip64: true, streamed: true }),
        await zipOf(contents, { stored: true, comment: "a comment" }),
        raw({ descriptor: { signed: true, wide: false } }),
        raw({ descriptor: { signed: false, wide: true } }),
        raw({ descriptor: { signed: false, wide: false }, stored: true }),
        raw({ zip64: true, stored: true }),
      ];
      const expected = rowsOf(await archiveOutcome(archives[0] ?? Buffer.alloc(0)));
      expect(expected).toBeDefined();
      let whole = 0;
      for (let number = 0; number < CASES; number += 1) {
        const random = createRandom(SEED * 1_000_003 + number);
        const pick = () => archives[random(archives.length)] ?? Buffer.alloc(0);
        let bytes = mutated(pick(), pick(), random);
        if (random(3) === 0 && bytes.length > 0) {
          bytes = mutated(bytes, pick(), random);
        }
        const fromBytes = await archiveOutcome(bytes);
        const fromStream = await archiveOutcome(streamOf(bytes, 1 + random(400)));
        const found = { number, bytes: rowsOf(fromBytes), stream: rowsOf(fromStream) };
        const good = found.bytes === undefined ? undefined : expected;
        expect(found).toEqual({ number, bytes: good, stream: good });
        whole += good === undefined ? 0 : 1;
      }
      // Some mistakes do no harm; if most did none, or none did none, the mutations would test nothing.
      expect(whole).toBeGreaterThan(0);
      expect(whole).toBeLessThan(CASES / 2);
    },
    60_000 + CASES * 50,
  );

  it(
    "CSV files give rows of one width or an error of their own",
    async () => {
      const files = [Buffer.from(first), Buffer.from(second)];
      for (let number = 0; number < CASES; number += 1) {
        const random = createRandom(SEED * 2_000_003 + number);
        const pick = () => files[random(files.length)] ?? Buffer.alloc(0);
        const bytes = mutated(pick(), pick(), random);
        try {
          for await (const { columns, rows } of decodeCsv(streamOf(bytes, 1 + random(50)))) {
            expect(rows.every((row) => row.length === columns.length)).toBe(true);
          }
        } catch (error) {
          expect({ number, error }).toEqual({ number, error: expect.any(TradewireError) });
        }
      }
    },
    60_000 + CASES * 20,
  );
});
