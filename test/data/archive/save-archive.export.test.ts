import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import JSZip from "jszip";
import { type Client, createClient, ProtocolError } from "tradewire";
import { streamOf } from "../../support/archive-outcome.js";
import { noise, zipOf } from "../../support/archives.js";
import { serveExport } from "../../support/export-server.js";
import { rawZip } from "../../support/raw-zip.js";
import { saveArchive } from "./inside.js";

const NAME = "chain-1-trades-1-3000.csv";
const request = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;
const content = Buffer.from(`id,note\n${Array.from({ length: 300 }, (_, n) => `${n},note ${n ** 3}\n`).join("")}`);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-verify-"));
});
afterAll(() => rm(folder, { recursive: true }));

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

/** The files of an archive by name, in base64. */
async function contentsOf(archive: Buffer): Promise<Record<string, string>> {
  const zip = await JSZip.loadAsync(archive);
  const all: Record<string, string> = {};
  for (const [name, file] of Object.entries(zip.files)) {
    all[name] = await file.async("base64");
  }
  return all;
}

describe("an archive in which a bit was flipped on the way", () => {
  it("is saved only where its files are what they were", async () => {
    const archives = [
      await zipOf({ [NAME]: content }, { streamed: true }),
      await zipOf({ [NAME]: content.subarray(0, 1400) }, { stored: true }),
    ];
    for (const archive of archives) {
      const expected = await contentsOf(archive);
      let accepted = 0;
      let tried = 0;
      for (let bit = 0; bit < archive.length * 8; bit += 67) {
        tried += 1;
        const saving = saveArchive(streamOf(flipped(archive, bit), 700), {
          target: folder,
          fileName: () => "flipped.zip",
          force: false,
        });
        const saved = await saving.catch((reason: unknown) => reason);
        if (saved instanceof Error) {
          expect(saved).toBeInstanceOf(ProtocolError);
        } else {
          accepted += 1;
          expect([bit, await contentsOf(await readFile(join(folder, "flipped.zip")))]).toEqual([bit, expected]);
          await rm(join(folder, "flipped.zip"));
        }
        expect(await readdir(folder)).toEqual([]);
      }
      // Times and attributes are covered by no checksum, and do no harm.
      expect(accepted).toBeLessThan(tried / 10);
    }
  });

  it("is refused by an export over REST, unless its structure alone is to be checked", async () => {
    const archive = await zipOf({ [NAME]: content }, { streamed: true, stored: true });
    const data = flipped(archive, (archive.indexOf("note 8\n") + 5) * 8);
    const chunks = [{ contentType: "application/zip", data }];
    await using server = await serveExport("raw", { chunks });
    await using client: Client = createClient({ transport: "rest", rest: { url: server.url } });
    const exported = client.exportNetworkHistory(request);
    await expect(exported.saveTo(folder)).rejects.toThrow(ProtocolError);
    expect(await readdir(folder)).toEqual([]);
    const saved = await exported.saveTo(folder, { verify: "structure" });
    expect(saved).toMatchObject({ verified: "structure", entries: [{ name: NAME, size: content.length }] });
    await rm(saved.path);
  });
});

const one = { name: "chain-1-trades-1-3000.csv", content: "a\n1\n" };
const others: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
  "another chain": [rawZip([{ ...one, name: "chain-2-trades-1-3000.csv" }]), /belongs to chain "chain-2", but/],
  "another table": [
    rawZip([{ ...one, name: "chain-1-orders-1-3000.csv" }]),
    /contains the table orders, but trades was/,
  ],
  "a later beginning": [rawZip([{ ...one, name: "chain-1-trades-2-3000.csv" }]), /must start at block 1$/],
  "an earlier end": [rawZip([{ ...one, name: "chain-1-trades-1-2000.csv" }]), /rows are missing$/],
  "two chains": [
    rawZip([
      { ...one, name: "chain-1-trades-1-1000.csv" },
      { ...one, name: "chain-3-trades-1001-3000.csv" },
    ]),
    /to a different table or chain than the previous file/,
  ],
};

describe("an archive that is not what was asked for", () => {
  const disposition = "attachment;filename=chain-1-trades-1-3000.zip";

  it.each(Object.entries(others))("is refused in every form: %s", async (_, [data, message]) => {
    await using server = await serveExport("raw", { chunks: [{ contentType: "application/zip", data }], disposition });
    await using client = createClient({ transport: "rest", rest: { url: server.url } });
    const exported = client.exportNetworkHistory(request);
    const taking = async (values: AsyncIterable<unknown>) => {
      for await (const value of values) {
        expect(value).toBeDefined();
      }
    };
    await expect(exported.saveTo(folder)).rejects.toMatchObject({ summary: expect.stringMatching(message) });
    const saving = exported.saveTo(folder, { verify: "structure" });
    await expect(saving).rejects.toMatchObject({ summary: expect.stringMatching(message) });
    for (const taken of [
      exported.toZip(),
      taking(exported.bytes()),
      taking(exported.files()),
      taking(exported.rows({ columns: "union" })),
    ]) {
      await expect(taken).rejects.toMatchObject({ summary: expect.stringMatching(message) });
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it("is taken where its names say nothing", async () => {
    const data = rawZip([{ ...one, name: "data.csv" }]);
    await using server = await serveExport("raw", { chunks: [{ contentType: "application/zip", data }], disposition });
    await using client = createClient({ transport: "rest", rest: { url: server.url } });
    const exported = client.exportNetworkHistory(request);
    await rm((await exported.saveTo(folder)).path);
    for await (const bytes of exported.bytes()) {
      expect(bytes).toBeDefined();
    }
    expect(Object.keys((await exported.toZip()).files)).toEqual(["data.csv"]);
  });

  it("is given whole, however large it is", async () => {
    const large = await zipOf({ "a.csv": noise(3_000_000) }, { stored: true });
    await using server = await serveExport("raw", { chunks: [{ contentType: "application/zip", data: large }] });
    await using client = createClient({ transport: "rest", rest: { url: server.url } });
    let size = 0;
    for await (const bytes of client.exportNetworkHistory(request).bytes()) {
      size += bytes.length;
    }
    expect(size).toBe(large.length);
  });
});
