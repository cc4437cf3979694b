import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { assemble, createClient, decodeCsv, TradewireError } from "tradewire";
import { archiveOutcome } from "../../support/archive-outcome.js";
import { serveExport } from "../../support/export-server.js";
import { rawZip } from "../../support/raw-zip.js";

const MIB = 1024 * 1024;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-limits-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function failure(values: AsyncIterable<unknown>): Promise<TradewireError | undefined> {
  try {
    for await (const _ of values) {
      // Only read.
    }
  } catch (reason) {
    if (reason instanceof TradewireError) {
      return reason;
    }
    throw reason;
  }
  return undefined;
}

/** The headers of folders, as good as without end. */
async function* folders(longName = ""): AsyncGenerator<Uint8Array> {
  for (let number = 0; number < 20_000; number += 1) {
    const one = rawZip([{ name: `${longName}${number}/`, content: "", stored: true, flags: 0x800 }]);
    yield one.subarray(0, one.indexOf("PK\x01\x02"));
  }
}

describe("an archive that is made to fill memory", () => {
  it("with folders without end is refused", async () => {
    const { error } = await archiveOutcome(folders());
    expect(error?.code).toBe(Code.ResourceExhausted);
    expect(error?.summary).toBe("the archive is too large: it exceeds the limit of 10000 files and folders");
  });

  it("with long names without end is refused", async () => {
    const { error } = await archiveOutcome(folders("€".repeat(4000)));
    expect(error?.code).toBe(Code.ResourceExhausted);
    expect(error?.summary).toBe("the archive is too large: its directory exceeds the limit of 33554432 bytes");
  });

  it("with more files than an export has is refused from a file too, and what is allowed is read in time", async () => {
    const archive = (count: number) =>
      rawZip(Array.from({ length: count }, (_, number) => ({ name: `${number}.csv`, content: "a\n", stored: true })));
    const path = join(folder, "many.zip");
    await writeFile(path, archive(10_001));
    expect((await archiveOutcome(path)).error?.summary).toContain("exceeds the limit of 10000 files and folders");
    await writeFile(path, archive(5000));
    const start = process.cpuUsage();
    expect((await archiveOutcome(path)).files).toHaveLength(5000);
    // Time of the processor, which does not grow with what else the machine does.
    expect(process.cpuUsage(start).user).toBeLessThan(40_000_000);
  });

  it("with columns without end is refused", async () => {
    async function* columns() {
      yield Buffer.from("a");
      for (let number = 0; number < 4000; number += 1) {
        yield Buffer.from(`,${number}`.repeat(1000));
      }
    }
    const error = await failure(decodeCsv(columns(), { maxRowBytes: 4 * MIB }));
    expect(error?.code).toBe(Code.ResourceExhausted);
    expect(error?.summary).toBe("CSV, line 1, field 1665: the header row exceeds the limit of 1664 columns");
    const widest = `${Array.from({ length: 1664 }, (_, number) => number).join(",")}\n`;
    expect(await failure(decodeCsv([Buffer.from(widest)]))).toBeUndefined();
  });
});

const archive = rawZip([{ name: "a.csv", content: "a\n1\n" }]);
const result = (data: Uint8Array) => ({ result: { contentType: "application/zip", data, extensions: [] } });

describe("a stream of nothing", () => {
  it("that consists of empty chunks is ended", async () => {
    let given = 0;
    async function* chunks() {
      yield result(archive.subarray(0, 20));
      for (; ; given += 1) {
        yield result(Buffer.alloc(0));
      }
    }
    const error = await failure(assemble(chunks(), { extensions: "optional" }));
    expect(error?.code).toBe(Code.ResourceExhausted);
    expect(error?.summary).toBe("the export exceeds the limit of 1000 empty chunks in a row");
    expect(given).toBeLessThan(1100);
  });

  it("behind a whole archive is not read to its end", async () => {
    let given = 0;
    async function* chunks() {
      yield result(archive);
      for (; ; given += 1) {
        yield result(Buffer.alloc(64 * 1024, "x"));
      }
    }
    const error = await failure(assemble(chunks(), { extensions: "optional" }));
    expect(error?.summary).toMatch(/^more than 1048576 bytes follow the archive's end: "xxx/);
    expect(given).toBeLessThan(50);
  });

  it("of JSON that is nested without end is an error like any other", async () => {
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    const chunk = { contentType: "application/zip", data: archive };
    const error = { code: 13, message: "broken", details: [] };
    const request = { table: "trades", fromBlock: 1, toBlock: 1000 } as const;
    const lines = [
      `{"error":{"code":13,"message":"deep","details":[{"@type":"a/b","c":${deep}}]}}`,
      `{"result":{"contentType":"application/zip","data":"","extensions":[{"@type":"a/b","c":${deep}}]}}`,
    ];
    for (const line of lines) {
      await using server = await serveExport("envelopes", { chunks: [chunk], lines: [line] });
      await using client = createClient({ transport: "rest", rest: { url: server.url } });
      const saving = client.exportNetworkHistory(request, { extensions: "optional" }).saveTo(`${folder}/deep.zip`);
      await expect(saving).rejects.toMatchObject({
        summary: expect.stringMatching(/exceeds the limit of 100 nested levels/),
      });
    }
    await using server = await serveExport("raw", {
      chunks: [{ ...chunk, data: Buffer.concat([archive, Buffer.from(lines[0] ?? "")]) }],
    });
    await using client = createClient({ transport: "rest", rest: { url: server.url } });
    const saving = client.exportNetworkHistory(request).saveTo(`${folder}/deep.zip`);
    const said = await saving.catch((reason: unknown) => reason);
    expect(said).toMatchObject({ name: "NodeError", code: error.code, summary: "the node answered INTERNAL: deep" });
    expect(() => JSON.stringify(said)).not.toThrow();
  });
});
