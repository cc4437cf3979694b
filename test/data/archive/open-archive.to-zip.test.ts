import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { CanceledError, NodeError } from "tradewire";
import { type MemoryOptions, zipInMemory } from "../../../src/data/archive/open-archive.js";
import { cutEvery } from "../../support/archives.js";
import { rawZip } from "../../support/raw-zip.js";
import { given } from "../../support/taken.js";

const one = { name: "c-trades-1-10.csv", content: "a\n1\n" };
const two = { name: "c-trades-11-20.csv", content: "a\n2\n" };
const archive = rawZip([one, two]);
const zip = (bytes: Buffer, options: MemoryOptions = {}) => zipInMemory(given(cutEvery(bytes, 50)), options);

describe("an archive in memory", () => {
  it("holds the files", async () => {
    const loaded = await zip(archive);
    expect(Object.keys(loaded.files)).toEqual([one.name, two.name]);
    expect(await loaded.file(two.name)?.async("string")).toBe("a\n2\n");
  });

  it("is checked first, by its content and by what was asked for", async () => {
    await expect(zip(rawZip([{ ...one, crc: 7 }]))).rejects.toThrow('the CRC-32 of "c-trades-1-10.csv" is');
    await expect(zip(rawZip([{ ...one, content: "a\n1,2\n" }]))).rejects.toThrow("the row has more than 1 field");
    await expect(zip(archive.subarray(0, -1))).rejects.toThrow("the archive is truncated");
    const exported = { table: "trades", fromBlock: 1n, toBlock: 30n } as const;
    await expect(zip(archive, { exported })).rejects.toThrow("rows are missing");
    const object = Buffer.from('{"error":{"code":13,"message":"no segment","details":[]}}');
    await expect(zip(Buffer.concat([archive, object]))).rejects.toBeInstanceOf(NodeError);
  });

  it("is no larger than the limits", async () => {
    expect(Object.keys((await zip(archive, { maxArchiveBytes: archive.length, maxSize: 8 })).files)).toHaveLength(2);
    await expect(zip(archive, { maxArchiveBytes: archive.length - 1 })).rejects.toMatchObject({
      code: Code.ResourceExhausted,
      message: `the archive exceeds the memory limit of ${archive.length - 1} bytes\nSave the archive to a file or stream it, or raise limits.maxArchiveBytes.`,
    });
    await expect(zip(archive, { maxSize: 7 })).rejects.toThrow("its files exceed the limit of 7 bytes");
    const packed = rawZip([{ ...one, content: `${"a".repeat(17 * 1024 * 1024)}\n` }]);
    await expect(zip(packed, { maxRatio: 100 })).rejects.toThrow("the limit of 100 times its compressed size");
    await expect(zip(packed)).rejects.toThrow("the limit of 200 times its compressed size");
  });

  it("has 512 MiB at most, unless told otherwise", async () => {
    const piece = Buffer.alloc(64 * 1024 * 1024);
    const zipping = zipInMemory(given([...Array(8).fill(piece), Buffer.alloc(1)]), {});
    await expect(zipping).rejects.toThrow("the archive exceeds the memory limit of 536870912 bytes");
  });

  it("is not read on beyond the limit", async () => {
    let taken = 0;
    async function* endless() {
      for (; ; taken += 1) {
        yield Buffer.alloc(100);
      }
    }
    await expect(zipInMemory(endless(), { maxArchiveBytes: 1000 })).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
    expect(taken).toBe(10);
  });

  it("is not waited for where the signal is aborted", async () => {
    const controller = new AbortController();
    const silent = given([archive.subarray(0, 50)], () => {
      controller.abort();
      return new Promise(() => undefined);
    });
    await expect(zipInMemory(silent, { signal: controller.signal })).rejects.toBeInstanceOf(CanceledError);
  });
});
