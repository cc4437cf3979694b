import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { csvZip, cutEvery } from "../support/archives.js";
import { run, startCommand } from "../support/command.js";

const TYPE = "type.googleapis.com/google.protobuf.StringValue";
const extensions = [{ "@type": TYPE, value: "all rows" }];

let archive: Buffer;
let bodies: object[];
let folder: string;
beforeAll(async () => {
  archive = await csvZip(300_000);
  bodies = cutEvery(archive, 100_000).map((data, index) => ({
    contentType: "application/zip",
    data: data.toString("base64"),
    ...(index === 0 ? { extensions } : {}),
  }));
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-assemble-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function assembled(capture: string, ...options: string[]) {
  await writeFile(join(folder, "capture.json"), capture);
  const outcome = await run(["assemble", "capture.json", ...options], { cwd: folder });
  const files = await readdir(folder);
  return { ...outcome, files };
}

describe("tradewire assemble", () => {
  it.each([
    ["envelopes, one a line", () => bodies.map((result) => `${JSON.stringify({ result })}\n`).join("")],
    ["envelopes without anything between", () => bodies.map((result) => JSON.stringify({ result })).join("")],
    ["bodies as grpcurl prints them", () => bodies.map((body) => `${JSON.stringify(body, null, 2)}\n`).join("")],
    ["bodies and envelopes", () => bodies.map((b, i) => JSON.stringify(i % 2 ? b : { result: b })).join("\r\n\r\n")],
    ["bodies, one of them empty", () => [bodies[0], {}, ...bodies.slice(1)].map((b) => JSON.stringify(b)).join("\n")],
  ])("makes the archive of %s", async (_, capture) => {
    const { code, out, files } = await assembled(capture(), "-o", "table");
    expect([code, out, files]).toEqual([0, `${join(folder, "capture.zip")}\n`, ["capture.json", "capture.zip"]]);
    expect((await readFile(join(folder, "capture.zip"))).equals(archive)).toBe(true);
  });

  it("prints a JSON object, and replaces a file only when forced to", async () => {
    const capture = bodies.map((body) => JSON.stringify(body)).join("\n");
    const first = await assembled(capture, "--json", "--to", "a.zip");
    expect(JSON.parse(first.out)).toMatchObject({
      path: join(folder, "a.zip"),
      bytes: archive.length,
      entries: [{ name: "chain-1-trades-1-3000.csv", size: 408_004 }],
    });
    expect(await assembled(capture, "--to", "a.zip")).toMatchObject({
      code: 1,
      err: expect.stringContaining("exists"),
    });
    expect(await assembled(capture, "--to", "a.zip", "--force")).toMatchObject({ code: 0 });
  });

  it("accepts a byte order mark, however the capture is split", async () => {
    const capture = Buffer.from(`\ufeff${bodies.map((body) => JSON.stringify(body)).join("\n")}`);
    expect(await assembled(capture.toString())).toMatchObject({ code: 0, err: expect.any(String) });
    for (const split of [1, 2, 3, 4]) {
      const input = Readable.from([capture.subarray(0, split), capture.subarray(split)]);
      const { stdout, ended } = startCommand(["assemble", "-", "--to", "-"], { input });
      expect((await buffer(stdout)).equals(archive)).toBe(true);
      expect(await ended).toMatchObject({ code: 0, err: "" });
    }
    const half = await run(["assemble", "-", "--to", "-"], { input: Buffer.from([0xef, 0xbb, 0x7b, 0x7d]) });
    expect(half).toMatchObject({ code: 1, err: expect.stringContaining("at byte 2") });
  });

  it("reads standard input and writes standard output", async () => {
    await writeFile(join(folder, "capture.json"), bodies.map((body) => JSON.stringify(body)).join("\n"));
    const input = await readFile(join(folder, "capture.json"));
    const { stdout, ended } = startCommand(["assemble", "-", "--to", "-"], { input });
    expect((await buffer(stdout)).equals(archive)).toBe(true);
    expect(await ended).toMatchObject({ code: 0, err: "" });
    const nameless = await run(["assemble", "-"], { input });
    expect(nameless).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("no file name to save the archive under"),
    });
  });

  it("holds the chunks to the rules of an export", async () => {
    const [first, ...rest] = bodies.map((body) => JSON.stringify(body));
    const bare = bodies.map((body) => JSON.stringify({ ...body, extensions: [] })).join("\n");
    for (const [capture, code, said] of [
      [
        `${first}\n${JSON.stringify({ error: { code: 13, message: "segment 3 is gone" } })}`,
        1,
        "INTERNAL: segment 3 is",
      ],
      [bare, 1, "the first chunk has no extensions"],
      [[first, ...rest.slice(0, -1)].join("\n"), 1, "the archive is truncated"],
      [[first, ...rest].join("\n").slice(0, -20), 1, "inside a JSON object"],
      [`${first}\n{"code":5,"message":"x"}`, 1, "neither a result nor an error"],
      ["PK\x03\x04", 1, "expected a JSON object at byte 0"],
      ["", 1, "the stream of the export is empty"],
    ] as const) {
      const { err, ...outcome } = await assembled(capture);
      expect(outcome).toEqual({ code, out: "", files: ["capture.json"] });
      expect(err).toContain(said);
    }
    expect(await assembled(bare, "--extensions", "optional")).toMatchObject({ code: 0 });
  });

  it("says that a capture does not exist", async () => {
    expect(await run(["assemble", "nothing.json"], { cwd: folder })).toMatchObject({
      code: 1,
      err: expect.stringContaining("nothing.json: file not found\n"),
    });
  });
});
