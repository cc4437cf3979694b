import { describe, expect, it } from "@jest/globals";
import { type WrittenFile, writeArchiveFiles } from "../../../src/data/zip/write-zip.js";
import { noise } from "../../support/archives.js";
import { given, taken, textOf } from "../../support/taken.js";
import { inMemory, readDirectory, streamedEntries } from "./inside.js";

const limits = { maxSize: 1e9, maxRatio: 1e6 };

function file(name: string, ...pieces: readonly string[]): WrittenFile {
  return { name, content: () => given(pieces.map((piece) => Buffer.from(piece))) };
}

async function written(files: readonly WrittenFile[]): Promise<Buffer> {
  const { values, error } = await taken(writeArchiveFiles(files));
  expect(error).toBeUndefined();
  return Buffer.concat(values);
}

describe("an archive that is written", () => {
  it("holds the files in their order, deflated, with descriptors and without a comment", async () => {
    const archive = await written([file("b.csv", "b\n", "1\n"), file("a.csv"), file("c.csv", "c\n".repeat(1000))]);
    const files: string[][] = [];
    for await (const entry of streamedEntries(given([archive]), { limits })) {
      files.push([entry.name, await textOf(entry.content())]);
    }
    expect(files).toEqual([
      ["b.csv", "b\n1\n"],
      ["a.csv", ""],
      ["c.csv", "c\n".repeat(1000)],
    ]);
    const { entries } = await readDirectory(inMemory(archive));
    expect(entries.map(({ method }) => method)).toEqual(["deflate", "deflate", "deflate"]);
    expect(entries[2]?.compressedSize).toBeLessThan(100);
    expect(archive.readUInt16LE(6) & 8).toBe(8);
    expect(archive.readUInt16LE(archive.length - 2)).toBe(0);
  });

  it("may have no file", async () => {
    const archive = await written([]);
    expect([archive.length, archive.readUInt32LE(0)]).toEqual([22, 0x06054b50]);
  });

  it("is the same for the same files, at any time", async () => {
    const files = [file("a.csv", "a\n1\n"), file("b.csv", "b\n")];
    const archive = await written(files);
    expect((await written(files)).equals(archive)).toBe(true);
    // The first day that a DOS date has.
    expect(archive.readUInt16LE(12)).toBe(0x21);
  });

  it("fails with the error of a file's content", async () => {
    const broken = new Error("broken");
    const failing = { name: "b.csv", content: () => given([Buffer.from("b")], () => Promise.reject(broken)) };
    expect((await taken(writeArchiveFiles([file("a.csv", "a\n"), failing]))).error).toBe(broken);
  });

  it("asks for a file's content when its turn comes", async () => {
    const asked: string[] = [];
    const watched = (name: string, next: WrittenFile): WrittenFile => ({
      name,
      content: () => {
        asked.push(name);
        return next.content();
      },
    });
    const fail = { name: "x", content: () => given<Buffer>([], () => Promise.reject(new Error("no more"))) };
    await taken(writeArchiveFiles([watched("a", file("a", "a\n")), watched("b", fail), watched("c", file("c"))]));
    expect(asked).toEqual(["a", "b"]);
  });

  it("ends the reading of the files when the caller stops", async () => {
    let state = "new";
    const endless: WrittenFile = {
      name: "a.csv",
      async *content() {
        try {
          for (let seed = 1; ; seed += 1) {
            state = "open";
            yield noise(20_000, seed);
          }
        } finally {
          await new Promise(setImmediate);
          state = "closed";
        }
      },
    };
    for await (const bytes of writeArchiveFiles([endless])) {
      expect(bytes.length).toBeGreaterThan(0);
      if (state === "open") {
        break;
      }
    }
    expect(state).toBe("closed");
  });
});
