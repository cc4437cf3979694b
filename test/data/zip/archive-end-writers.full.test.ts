import { beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { ProtocolError } from "tradewire";
import { cutAt, cutEvery, noise, zipFrom, zipOf } from "../../support/archives.js";
import { createArchiveEnd } from "./inside.js";

const MIB = 1024 * 1024;
/** What no end record is longer than, ZIP64's records before it included. */
const RECORDS_SIZE = 22 + 20 + 56;

const PYTHON = `
import sys, zipfile
sys.stdout = None
comment, limit = sys.argv[1], int(sys.argv[2])
if limit:
    zipfile.ZIP64_LIMIT = limit
    zipfile.ZIP_FILECOUNT_LIMIT = 0
with zipfile.ZipFile("out.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.write("a.csv")
    z.write("b.csv")
    z.comment = comment.encode()
`;

const files = { "a.csv": noise(3000), "b.csv": Buffer.from("x,y\n1,2\n".repeat(500)) };
const archives = new Map<string, Buffer>();

beforeAll(async () => {
  const inner = await zipOf(files);
  const innerZip64 = await zipOf(files, { forceZip64: true });
  const made: Record<string, Buffer | undefined> = {
    "sizes before the data": await zipOf(files),
    "data descriptors": await zipOf(files, { streamed: true }),
    ZIP64: await zipOf(files, { forceZip64: true }),
    "ZIP64 with data descriptors": await zipOf(files, { forceZip64: true, streamed: true }),
    "a comment": await zipOf(files, { comment: "PK is no end, and neither is this: PK" }),
    "ZIP64 and a comment": await zipOf(files, { forceZip64: true, comment: "all rows" }),
    "an archive stored inside": await zipOf({ "inner.zip": inner, ...files }, { stored: true }),
    "a ZIP64 archive stored inside": await zipOf({ ...files, "inner.zip": innerZip64 }, { stored: true }),
    "no file": await zipOf({}),
    Python: zipFrom("python3", "-c", PYTHON, "", "0"),
    "Python, a comment": zipFrom("python3", "-c", PYTHON, "of all rows", "0"),
    "Python, ZIP64": zipFrom("python3", "-c", PYTHON, "", "1"),
    "Info-ZIP": zipFrom("zip", "-q", "-", "a.csv", "b.csv"),
    "Info-ZIP to a file": zipFrom("zip", "-q", "out.zip", "a.csv", "b.csv"),
    "Info-ZIP from a stream to a stream": zipFrom("zip", "-q", "-", "-"),
    "Info-ZIP, ZIP64": zipFrom("zip", "-q", "-fz", "out.zip", "a.csv", "b.csv"),
  };
  for (const [name, archive] of Object.entries(made)) {
    if (archive !== undefined) {
      archives.set(name, archive);
    }
  }
});

/** What comes out where the pieces come one after another. */
function watch(pieces: readonly Uint8Array[]) {
  const end = createArchiveEnd();
  const own = Buffer.concat(pieces.map((piece) => end.push(piece)));
  return { own, trailingSize: end.trailingSize, trailing: Buffer.from(end.trailing()), finish: () => end.finish() };
}

function failure(pieces: readonly Uint8Array[]): ProtocolError {
  try {
    watch(pieces).finish();
  } catch (reason) {
    if (reason instanceof ProtocolError) {
      return reason;
    }
    throw reason;
  }
  throw new Error("it was accepted");
}

/** Say which archive it was that something is not so for. */
function each(check: (archive: Buffer, name: string) => void): void {
  expect(archives.size).toBeGreaterThanOrEqual(9);
  for (const [name, archive] of archives) {
    try {
      check(archive, name);
    } catch (cause) {
      throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  }
}

const places = (archive: Buffer) => fc.array(fc.nat(archive.length), { maxLength: 12 });

describe("the end of the archives of many writers", () => {
  it("finds the end of an archive of any writer, however it is cut", () => {
    each((archive) => {
      fc.assert(
        fc.property(places(archive), (cuts) => {
          const seen = watch(cutAt(archive, cuts));
          seen.finish();
          expect(seen.own.equals(archive)).toBe(true);
          expect(seen.trailingSize).toBe(0);
        }),
        { numRuns: 40 },
      );
    });
  });

  it("finds it byte by byte", () => {
    each((archive) => {
      const seen = watch(cutEvery(archive, 1));
      seen.finish();
      expect(seen.own.equals(archive)).toBe(true);
    });
  });

  it("finds the end record wherever a chunk ends in it", () => {
    each((archive) => {
      for (let back = 1; back <= Math.min(RECORDS_SIZE + 4, archive.length - 1); back += 1) {
        watch(cutAt(archive, [archive.length - back])).finish();
      }
    });
  });

  it("says of every other prefix that it is truncated", () => {
    each((archive, name) => {
      // An archive that ends with the one inside it, or a byte or two behind, cannot be told from one that was added to.
      const inner = name.includes("inside");
      const length = fc.nat(archive.length - 1);
      fc.assert(
        fc.property(length, places(archive), (size, cuts) => {
          const error = failure(cutAt(archive.subarray(0, size), cuts));
          expect(error.summary).toMatch(
            inner ? /^the archive is (truncated|corrupt)/ : `truncated: the stream ended after ${size} bytes`,
          );
        }),
        { numRuns: 60 },
      );
    });
  });

  it("does not take the end of an archive inside for the end, nor for a fault where the stream is cut behind it", () => {
    for (const name of ["an archive stored inside", "a ZIP64 archive stored inside"]) {
      const archive = archives.get(name) ?? Buffer.alloc(0);
      const innerEnd = archive.indexOf("PK\x05\x06") + 22;
      expect(innerEnd).toBeLessThan(archive.length - 100);
      expect(failure([archive.subarray(0, innerEnd + 50)]).summary).toContain("truncated");
    }
  });

  it("counts what follows exactly, and keeps the beginning of it", () => {
    each((archive) => {
      const followed = fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 3000 }), places(archive));
      fc.assert(
        fc.property(followed, ([more, cuts]) => {
          const seen = watch(cutAt(Buffer.concat([archive, more]), [...cuts, archive.length + cuts.length]));
          seen.finish();
          expect(seen.own.equals(archive)).toBe(true);
          expect(seen.trailingSize).toBe(more.length);
          expect(seen.trailing.equals(more)).toBe(true);
        }),
        { numRuns: 20 },
      );
    });
  });

  it("reads no more than 1 MiB of what follows", () => {
    const archive = archives.get("data descriptors") ?? Buffer.alloc(0);
    for (const size of [65_536, 3 * MIB]) {
      expect(watch(cutEvery(Buffer.concat([archive, noise(MIB)]), size)).trailingSize).toBe(MIB);
      const { summary } = failure(cutEvery(Buffer.concat([archive, noise(MIB + 1)]), size));
      expect(summary).toMatch(/^more than 1048576 bytes follow the archive's end: "/);
    }
  });

  it("searches in a time that grows with the size, whatever the records say", () => {
    const record = Buffer.from("504b0606", "hex");
    const locator = Buffer.concat([Buffer.from("504b0607", "hex"), Buffer.alloc(16)]);
    const end = Buffer.concat([Buffer.from("504b0506", "hex"), Buffer.alloc(18, 1)]);
    const pair = Buffer.concat([locator, end]);
    const before = Buffer.alloc(200);
    for (const hostile of [
      Buffer.concat([before, Buffer.alloc(8 * MIB, pair)]),
      Buffer.concat([before, Buffer.alloc(4 * MIB, pair), Buffer.alloc(4 * MIB, record)]),
    ]) {
      const start = process.cpuUsage(); // It does not grow with what else the machine does.
      createArchiveEnd().push(hostile);
      expect(process.cpuUsage(start).user).toBeLessThan(20_000_000); // It took minutes.
    }
  });

  it("takes an archive that follows an archive for what follows", () => {
    const archive = archives.get("data descriptors") ?? Buffer.alloc(0);
    const seen = watch([archive, archive]);
    expect(seen.own.equals(archive)).toBe(true);
    expect(seen.trailingSize).toBe(archive.length);
  });

  it("counts the line feeds that stand after each MiB of an archive", async () => {
    for (const forceZip64 of [false, true]) {
      const archive = await zipOf({ "a.csv": noise(3 * MIB) }, { forceZip64, streamed: true, stored: true });
      const fed = cutEvery(archive, MIB).map((piece) => Buffer.concat([piece, Buffer.from("\n")]));
      const size = archive.length + 4;
      expect(failure(fed).summary).toBe(`the archive is corrupt: its directory does not cover 3 of the ${size} bytes`);
    }
  });

  it("counts the line feeds that stand after pieces of any size", () => {
    each((archive, name) => {
      if (name === "no file") {
        return;
      }
      const records = archive.lastIndexOf("PK\x05\x06") - 76;
      const before = fc.uniqueArray(fc.integer({ min: 1, max: records }), { minLength: 1, maxLength: 20 });
      fc.assert(
        fc.property(before, places(archive), (feeds, cuts) => {
          const pieces = cutAt(archive, feeds).map((piece) => Buffer.concat([piece, Buffer.from("\n")]));
          const { summary } = failure(cutAt(Buffer.concat(pieces), cuts));
          expect(summary).toContain(`does not cover ${feeds.length} of the`);
        }),
        { numRuns: 20 },
      );
    });
  });

  it("accepts no archive with a line feed added anywhere", () => {
    each((archive) => {
      const accepted = (at: number) => {
        const seen = watch([Buffer.concat([archive.subarray(0, at), Buffer.from("\n"), archive.subarray(at)])]);
        return seen.trailingSize === 0 && !throws(seen.finish);
      };
      fc.assert(
        fc.property(fc.nat(archive.length), (at) => !accepted(at)),
        { numRuns: 100 },
      );
      // The records at the end are where it matters most.
      const end = Array.from({ length: Math.min(archive.length, 300) }, (_, back) => archive.length - back);
      expect(end.filter(accepted)).toEqual([]);
    });
  });
});

function throws(run: () => void): boolean {
  try {
    run();
    return false;
  } catch {
    return true;
  }
}
