import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { CanceledError, FileError, ProtocolError } from "tradewire";
import { joinedCsv } from "../../../src/data/archive/merge-archives.js";
import { failureOf } from "../../support/listing-clients.js";
import { rawZip } from "../../support/raw-zip.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-join-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The paths of archives that hold a CSV file each. */
function archives(...contents: string[]): string[] {
  return contents.map((content, index) => {
    const path = join(folder, `${index}.zip`);
    writeFileSync(path, rawZip([{ name: `chain-1-trades-${index * 10 + 1}-${index * 10 + 10}.csv`, content }]));
    return path;
  });
}

async function joined(paths: readonly string[], reading: Parameters<typeof joinedCsv>[1] = {}): Promise<string> {
  async function* each() {
    yield* paths;
  }
  const pieces = [];
  for await (const piece of joinedCsv(each(), reading)) {
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces).toString();
}

describe("joinedCsv", () => {
  it("has one header row, and all rows byte for byte", async () => {
    const long = `${"x".repeat(300_000)}\n`;
    const paths = archives('a,b\n1,"x\ny"\r\n', 'a,b\r\n2,""\n3,\n', "a,b\n", `"a",b\n4,${long}`);
    expect(await joined(paths)).toBe(`a,b\n1,"x\ny"\r\n2,""\n3,\n4,${long}`);
  });

  it("knows where a header row ends that has line ends in it", async () => {
    const header = '"a\n""b""",c\n';
    expect(await joined(archives(`${header}1,1\n`, `${header}2,2\n`))).toBe(`${header}1,1\n2,2\n`);
  });

  it("asks for an archive once the one before was read", async () => {
    const paths = archives("a\n1\n", "a\n2\n");
    const seen: string[] = [];
    async function* each() {
      for (const [index, path] of paths.entries()) {
        seen.push(`asked for ${index}`);
        yield path;
        rmSync(path);
      }
    }
    for await (const piece of joinedCsv(each(), {})) {
      seen.push(piece.toString().trim());
    }
    expect(seen).toEqual(["asked for 0", "a\n1", "asked for 1", "2"]);
  });

  it.each([
    ["other columns", "b\n2\n", "different columns"],
    ["more columns", "a,b\n2,2\n", "different columns"],
    ["no line end behind the last row", "a\n2", "chain-1-trades-11-20.csv"],
    ["an open quote", 'a\n"2\n', "chain-1-trades-11-20.csv"],
  ])("refuses a file with %s", async (_, second, words) => {
    const failure = await failureOf(() => joined(archives("a\n1\n", second, "a\n3\n")));
    expect(failure).toBeInstanceOf(ProtocolError);
    expect(failure).toMatchObject({ summary: expect.stringContaining(words) });
  });

  it("refuses a row that is too long, and ends with its signal", async () => {
    const paths = archives("a\n1\n", `a\n${"2".repeat(100)}\n`);
    await expect(joined(paths, { maxRowBytes: 50 })).rejects.toThrow("50");
    expect(await failureOf(() => joined(paths, { signal: AbortSignal.abort() }))).toBeInstanceOf(CanceledError);
    expect(await failureOf(() => joined([join(folder, "none.zip")]))).toBeInstanceOf(FileError);
  });
});
