import { beforeAll, describe, expect, it } from "@jest/globals";
import { checkEnd, createArchiveEnd } from "../../../src/data/zip/archive-end.js";
import { cutAt, cutEvery, noise, zipOf } from "../../support/archives.js";
import { rawZip } from "../../support/raw-zip.js";

const KIB = 1024;
const MIB = 1024 * KIB;
/** What is searched across the border of two pieces. */
const LOOK_BACK = 16 * KIB;
const files = { "a.csv": noise(300), "b.csv": Buffer.from("x,y\n1,2\n".repeat(50)) };
const narrow = rawZip([{ name: "a.csv", content: "a\n1\n" }]);
let wide: Buffer;
beforeAll(async () => {
  wide = await zipOf(files, { forceZip64: true, streamed: true });
});

/** What comes out where the pieces come one after another. */
function watch(pieces: readonly Uint8Array[]) {
  const end = createArchiveEnd();
  const own = Buffer.concat(pieces.map((piece) => end.push(piece)));
  return { own, end };
}

/** What is said of a stream that has ended; undefined where it is accepted. */
function said(pieces: readonly Uint8Array[]): string | undefined {
  const { end } = watch(pieces);
  try {
    checkEnd(end);
    return undefined;
  } catch (reason) {
    return reason instanceof Error ? reason.message.split("\n")[0] : String(reason);
  }
}

const truncatedAt = (size: number) => `the archive is truncated: the stream ended after ${size} bytes`;

/** An end record by hand: the fields that place it, and the size of its comment. */
function endRecord({ size = 0, start = 0, comment = 0 }): Buffer {
  const record = Buffer.alloc(22);
  record.write("504b0506", "hex");
  record.writeUInt32LE(size, 12);
  record.writeUInt32LE(start, 16);
  record.writeUInt16LE(comment, 20);
  return record;
}

/** ZIP64's record and its locator by hand. */
function wideRecords(said: { size?: number; start?: number; recordSize?: number; at?: number; extension?: number }) {
  const { size = 0, start = 0, recordSize = 44, extension = 0 } = said;
  const { at = size + start } = said;
  const records = Buffer.alloc(76 + extension);
  records.write("504b0606", "hex");
  records.writeBigUInt64LE(BigInt(recordSize), 4);
  records.writeBigUInt64LE(BigInt(size), 40);
  records.writeBigUInt64LE(BigInt(start), 48);
  records.write("504b0607", 56 + extension, "hex");
  records.writeBigUInt64LE(BigInt(at), 56 + extension + 8);
  return records;
}

describe("the end of an archive", () => {
  it("is found wherever the archive is cut in two, and byte by byte", () => {
    for (const archive of [narrow, wide]) {
      for (let at = 0; at <= archive.length; at += 1) {
        expect([at, said([archive.subarray(0, at), archive.subarray(at)])]).toEqual([at, undefined]);
      }
      const { own, end } = watch(cutEvery(archive, 1));
      expect(own.equals(archive)).toBe(true);
      expect(end.trailingSize).toBe(0);
      expect(() => end.finish()).not.toThrow();
    }
  });

  it("is missing in every beginning of it", () => {
    for (const archive of [narrow, wide]) {
      for (let size = 0; size < archive.length; size += 1) {
        const cut = archive.subarray(0, size);
        expect(said([cut])).toBe(truncatedAt(size));
        expect(said([archive.subarray(0, size >> 1), archive.subarray(size >> 1, size)])).toBe(truncatedAt(size));
      }
    }
  });

  it("is where the directory ends, by the sum of its position and size", () => {
    const record = endRecord({ size: 30, start: 70 });
    expect(said([Buffer.alloc(100), record])).toBeUndefined();
    expect(said([Buffer.alloc(40), record])).toBe(truncatedAt(62));
  });

  it("is behind the comment", () => {
    const archive = rawZip([{ name: "a.csv", content: "a\n" }], { comment: "all of the rows" });
    expect(said([archive])).toBeUndefined();
    for (const missing of [1, 14, 15]) {
      expect(said([archive.subarray(0, archive.length - missing)])).toBe(truncatedAt(archive.length - missing));
    }
    const { own, end } = watch([archive.subarray(0, -10), Buffer.from("the rowsXY")]);
    expect(own.length).toBe(archive.length);
    expect(end.trailingSize).toBe(0);
    const more = watch([archive.subarray(0, -3), Buffer.from("ows, and more")]);
    expect(more.own.equals(archive)).toBe(true);
    expect(Buffer.from(more.end.trailing()).toString()).toBe(", and more");
  });

  it("is the first that fits, whatever follows", () => {
    const another = (start: number) => endRecord({ start });
    const gap = Buffer.alloc(2 * LOOK_BACK);
    const far = narrow.length + gap.length;
    for (const pieces of [
      [narrow, another(narrow.length)],
      [Buffer.concat([narrow, another(narrow.length)])],
      [Buffer.concat([narrow, gap, another(far)])],
      [Buffer.concat([narrow, gap]), another(far)],
    ]) {
      const { own, end } = watch(pieces);
      expect(own.equals(narrow)).toBe(true);
      expect(end.trailingSize).toBe(Buffer.concat(pieces).length - narrow.length);
    }
  });

  it("may be all that an archive has", () => {
    expect(said([endRecord({})])).toBeUndefined();
    for (const before of [1, 19, 20, 21, 75]) {
      expect(said([Buffer.alloc(before), endRecord({ start: before })])).toBeUndefined();
    }
  });

  it("is not that of an archive inside", () => {
    const outer = rawZip([{ name: "inner.zip", content: narrow, stored: true }]);
    expect(said([outer])).toBeUndefined();
    expect(said(cutEvery(outer, 7))).toBeUndefined();
    const innerEnd = outer.indexOf("PK\x05\x06") + 22;
    expect(said([outer.subarray(0, innerEnd + 3)])).toBe(truncatedAt(innerEnd + 3));
  });

  it("is found far from where a piece begins", () => {
    for (const distance of [0, 1, 21, 22, 23, 100]) {
      for (const sign of [-1, 1]) {
        const before = LOOK_BACK + sign * distance;
        const archive = Buffer.concat([Buffer.alloc(before), endRecord({ start: before })]);
        expect([distance, said([archive])]).toEqual([distance, undefined]);
        expect([distance, said([Buffer.alloc(5), archive.subarray(5)])]).toEqual([distance, undefined]);
      }
    }
    const far = 5 * LOOK_BACK + 3;
    expect(said([Buffer.alloc(far), endRecord({ start: far })])).toBeUndefined();
    expect(said([Buffer.concat([Buffer.alloc(far), endRecord({ start: far })])])).toBeUndefined();
  });

  it("is found behind pieces that fill the window many times, wherever the last is cut", () => {
    for (const size of [1000, 4096, 5000, LOOK_BACK - 1, LOOK_BACK, LOOK_BACK + 1, 3 * LOOK_BACK]) {
      const before = 5 * LOOK_BACK + 77;
      const archive = Buffer.concat([Buffer.alloc(before, 1), wideRecords({ start: before }), endRecord({})]);
      expect([size, said(cutEvery(archive, size))]).toEqual([size, undefined]);
    }
    const large = Buffer.concat([Buffer.alloc(100 * KIB, 1), wideRecords({ start: 100 * KIB }), endRecord({})]);
    for (const back of [1, 20, 22, 23, 42, 60, 97, 98, 99]) {
      expect([back, said(cutAt(large, [large.length - back]))]).toEqual([back, undefined]);
      expect([back, said(cutAt(large, [50 * KIB, large.length - back]))]).toEqual([back, undefined]);
    }
  });

  it("keeps the bytes that a search needs, in their order", () => {
    // The window moves when it is full. A record that stands across the move is found nevertheless.
    const filler = 4 * LOOK_BACK;
    for (let over = 0; over < 98; over += 7) {
      const before = filler - over;
      const archive = Buffer.concat([Buffer.alloc(before), wideRecords({ start: before }), endRecord({})]);
      const pieces = [...cutEvery(archive.subarray(0, filler), 8 * KIB), archive.subarray(filler)];
      expect([over, said(pieces)]).toEqual([over, undefined]);
    }
  });
});

describe("the end of an archive with ZIP64's records", () => {
  const before = Buffer.alloc(100);
  const ends = (records: Buffer) => said([before, records, endRecord({ size: 1, start: 2 })]);

  it("is where they place it", () => {
    expect(ends(wideRecords({ size: 30, start: 70 }))).toBeUndefined();
    expect(ends(wideRecords({ size: 30, start: 71 }))).not.toBeUndefined();
    expect(ends(wideRecords({ size: 30, start: 70, at: 101 }))).not.toBeUndefined();
    expect(ends(wideRecords({ size: 30, start: 70, recordSize: 45 }))).not.toBeUndefined();
  });

  it("is behind their extension", () => {
    expect(ends(wideRecords({ size: 30, start: 70, recordSize: 54, extension: 10 }))).toBeUndefined();
    expect(ends(wideRecords({ size: 30, start: 70, recordSize: 44, extension: 10 }))).not.toBeUndefined();
  });

  it("is found behind an extension of 15 KiB, however it is cut", () => {
    const extension = 15 * KIB;
    const records = wideRecords({ size: 30, start: 70, recordSize: 44 + extension, extension });
    const archive = Buffer.concat([before, records, endRecord({ size: 1, start: 2 })]);
    for (const pieces of [cutEvery(archive, 1000), cutAt(archive, [archive.length - 30])]) {
      expect(said(pieces)).toBeUndefined();
    }
  });

  it("is found behind large pieces, wherever they are cut in its records", () => {
    const start = 40 * KIB;
    const content = noise(start);
    const comment = Buffer.alloc(20 * KIB, "c");
    for (const records of [Buffer.alloc(0), wideRecords({ size: 0, start })]) {
      const size = records.length === 0 ? { start } : { size: 1, start: 2 };
      const archive = Buffer.concat([content, records, endRecord({ ...size, comment: comment.length }), comment]);
      for (let cut = start - 1; cut <= archive.length - comment.length; cut += 1) {
        const { own, end } = watch(cutAt(archive, [cut]));
        expect([cut, own.length, end.trailingSize]).toEqual([cut, archive.length, 0]);
        expect([cut, said(cutAt(archive, [cut]))]).toEqual([cut, undefined]);
      }
    }
  });

  it("is found where the archive is nothing but records", () => {
    expect(said([wideRecords({}), endRecord({ size: 1, start: 1 })])).toBeUndefined();
  });

  it("is where its own fields place it, where no locator stands straight before it", () => {
    for (const [records, gap] of [
      [wideRecords({ size: 30, start: 70 }), Buffer.alloc(1)],
      [wideRecords({ size: 30, start: 70 }).subarray(0, 56), Buffer.alloc(0)],
      [wideRecords({ size: 30, start: 70 }).subarray(56), Buffer.alloc(0)],
      [wideRecords({ size: 30, start: 70 }).fill(0, 0, 4), Buffer.alloc(0)],
    ] as const) {
      const start = before.length + records.length + gap.length;
      expect(said([before, records, gap, endRecord({ start })])).toBeUndefined();
      expect(said([before, records, gap, endRecord({ start: 0 })])).not.toBeUndefined();
    }
  });

  it("is where its own fields place it, where those records do not fit together", () => {
    const right = (records: Buffer) => said([before, records, endRecord({ start: before.length + records.length })]);
    const wrong = { size: 30, start: 70, recordSize: 45 };
    expect(right(wideRecords({ ...wrong, at: 105 }))).toBeUndefined();
    expect(right(wideRecords(wrong).fill(0, 56, 60))).toBeUndefined();
    expect(right(wideRecords({ at: 0 }).subarray(56))).toBeUndefined();
    expect(right(wideRecords(wrong))).not.toBeUndefined();
  });

  it("counts no record that stands behind it", () => {
    const records = wideRecords({ size: 30, start: 70, recordSize: 54, extension: 10 });
    records.write("504b0606", 58, "hex");
    const archive = Buffer.concat([before, records, endRecord({ size: 1, start: 2 })]);
    expect(said([archive])).toBeUndefined();
    expect(said([Buffer.concat([archive, Buffer.from("PK\x06\x06"), Buffer.alloc(56)])])).toMatch(/^60 bytes follow/);
  });

  it("counts the last record before the locator, not one inside the archive", () => {
    const inner = wideRecords({ size: 5, start: 5 });
    const archive = Buffer.concat([inner, before]);
    expect(said([archive, wideRecords({ start: archive.length }), endRecord({ size: 9 })])).toBeUndefined();
    const two = Buffer.concat([inner, inner, before, inner]);
    expect(said([two, wideRecords({ start: two.length }), endRecord({ size: 9 })])).toBeUndefined();
  });
});

describe("what follows the end of an archive", () => {
  it("is told apart from it exactly, however it comes", () => {
    const all = Buffer.concat([narrow, Buffer.from("abcdef")]);
    for (const pieces of [[all], cutEvery(all, 1), [narrow, Buffer.from("abcdef")], cutAt(all, [narrow.length + 2])]) {
      const { own, end } = watch(pieces);
      expect(own.equals(narrow)).toBe(true);
      expect(end.trailingSize).toBe(6);
      expect(Buffer.from(end.trailing()).toString()).toBe("abcdef");
      expect(() => end.finish()).not.toThrow();
      expect(said(pieces)).toBe('6 bytes follow the archive\'s end: "abcdef"');
    }
    expect(said([narrow, Buffer.from("\n")])).toBe('1 byte follows the archive\'s end: "\\n"');
    expect(said([narrow, Buffer.alloc(200, "x")])).toBe(`200 bytes follow the archive's end: "${"x".repeat(60)}"`);
  });

  it("is kept as it was, whatever becomes of the piece", () => {
    const end = createArchiveEnd();
    const piece = Buffer.concat([narrow, Buffer.from("abc")]);
    end.push(piece);
    piece.fill(0);
    expect(Buffer.from(end.trailing()).toString()).toBe("abc");
  });

  it("may be another archive", () => {
    const { own, end } = watch([narrow, wide]);
    expect(own.equals(narrow)).toBe(true);
    expect(end.trailingSize).toBe(wide.length);
  });

  it("is read up to 1 MiB, and quoted where it is more", () => {
    const { end } = watch([narrow, Buffer.alloc(MIB - 1, "x"), Buffer.from("y")]);
    expect(end.trailingSize).toBe(MIB);
    expect(() => end.push(Buffer.from("z"))).toThrow(
      /^more than 1048576 bytes follow the archive's end: "x{60}"\nRows may be missing\./,
    );
    expect(() => watch([narrow, Buffer.alloc(MIB + 1, "x")])).toThrow(/^more than 1048576 bytes follow .*"x{60}"/);
  });
});

describe("an archive to which bytes were added on the way", () => {
  const added = (count: number, size: number) =>
    `the archive is corrupt: its directory does not cover ${count} of the ${size} bytes`;

  it("is told by where its end record stands", () => {
    for (const count of [1, 3]) {
      const pieces = [Buffer.alloc(count, "\n"), narrow];
      expect(said(pieces)).toBe(added(count, narrow.length + count));
      // A line feed or two behind the end record are of the gateway too.
      expect(said([...pieces, Buffer.from("\n")])).toBe(added(count, narrow.length + count + 1));
      expect(said([...pieces, Buffer.from("\r\n")])).toBe(added(count, narrow.length + count + 2));
      expect(said([...pieces, Buffer.from("\n\n\n")])).toBe(truncatedAt(narrow.length + count + 3));
    }
    const { end } = watch([Buffer.from("\n"), wide]);
    expect(() => checkEnd(end)).toThrow(/does not cover 1 of the .*\nA proxy adds bytes\./);
  });

  it("is truncated where its own end record was found, but not its comment", () => {
    const inner = endRecord({ size: 1, start: 2, comment: 60_000 });
    expect(said([Buffer.alloc(100), inner, endRecord({ start: 122, comment: 10 })])).toBe(truncatedAt(144));
  });

  it("is truncated where bytes were lost", () => {
    expect(said([narrow.subarray(1)])).toBe(truncatedAt(narrow.length - 1));
  });
});
