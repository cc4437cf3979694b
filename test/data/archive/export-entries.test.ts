import { describe, expect, it } from "@jest/globals";
import { CanceledError, NodeError } from "tradewire";
import { archiveEntries, arrivingEntries, UNLIMITED } from "../../../src/data/archive/export-entries.js";
import { cutEvery } from "../../support/archives.js";
import { rawZip } from "../../support/raw-zip.js";
import { given, taken, textOf } from "../../support/taken.js";
import { type Entry, inMemory } from "./inside.js";

const archive = rawZip([{ name: "a.csv", content: "a\n1\n" }]);
const object = Buffer.from('{"error":{"code":13,"message":"no segment","details":[]}}');
const behind = Buffer.concat([archive, object]);
const cut = Buffer.concat([archive.subarray(0, -40), object]);

async function read(entries: AsyncIterable<Entry>) {
  async function* texts() {
    for await (const entry of entries) {
      yield await textOf(entry.content());
    }
  }
  return taken(texts());
}

const doors = {
  "in memory": (bytes: Buffer, signal?: AbortSignal) =>
    read(archiveEntries(inMemory(bytes), { limits: UNLIMITED, signal })),
  "that arrives": (bytes: Buffer, signal?: AbortSignal) =>
    read(arrivingEntries(given(cutEvery(bytes, 9)), { limits: UNLIMITED, signal })),
};

describe.each(Object.entries(doors))("an archive %s", (_, door) => {
  it("is read", async () => {
    expect(await door(archive)).toEqual({ values: ["a\n1\n"], error: undefined });
  });

  it("fails with the error object that a gateway wrote behind it, or where it broke off", async () => {
    for (const bytes of [behind, cut]) {
      const { error } = await door(bytes);
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({ summary: "the node answered INTERNAL: no segment" });
    }
  });

  it("is not read where the signal is aborted", async () => {
    const { values, error } = await door(archive, AbortSignal.abort("enough"));
    expect([values, error]).toEqual([[], expect.any(CanceledError)]);
  });

  it("is held to the limits", async () => {
    const limits = { maxSize: 3, maxRatio: 1 };
    for (const entries of [
      archiveEntries(inMemory(archive), { limits }),
      arrivingEntries(given([archive]), { limits }),
    ]) {
      expect((await read(entries)).error).toMatchObject({ summary: expect.stringContaining("exceed") });
    }
  });
});

describe("an archive that arrives", () => {
  it("is left where the signal is aborted, though its source is silent", async () => {
    const controller = new AbortController();
    const silent = given([archive.subarray(0, 20)], () => {
      controller.abort("enough");
      return new Promise(() => undefined);
    });
    const { error } = await read(arrivingEntries(silent, { limits: UNLIMITED, signal: controller.signal }));
    expect(error).toMatchObject({ cause: "enough" });
  });
});
