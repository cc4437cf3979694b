import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type Archive, CanceledError, mergeArchives, openArchive, TradewireError } from "tradewire";
import { streamOf } from "../../support/archive-outcome.js";
import { eventually } from "../../support/eventually.js";
import { rawZip } from "../../support/raw-zip.js";
import { saveArchive } from "./inside.js";

const one = { name: "c-trades-1-10.csv", content: "a\n1\n" };
const two = { name: "c-trades-11-20.csv", content: "a\n2\n" };
const good = rawZip([one, two]);

/** Archives that are no exports. `inRows` marks those that one must read the rows of, which saving does not. */
const bad: Readonly<Record<string, { readonly archive: Buffer; readonly said: RegExp; readonly inRows?: boolean }>> = {
  "a folder that hides content": {
    archive: rawZip([one, { name: "hidden/", content: "a\n3\n", stored: true }]),
    said: /"hidden\/" is a folder that is not empty/,
  },
  "files out of the order of their blocks": { archive: rawZip([two, one]), said: /starts at block 1, but/ },
  "a gap": { archive: rawZip([one, { ...two, name: "c-trades-12-20.csv" }]), said: /starts at block 12, but/ },
  "two chains": { archive: rawZip([one, { ...two, name: "d-trades-11-20.csv" }]), said: /a different table or chain/ },
  "an archive inside": {
    archive: rawZip([{ ...one, content: good }]),
    said: /c-trades-1-10\.csv, line 1, /,
    inRows: true,
  },
  "what is no CSV": { archive: rawZip([{ ...one, content: "a\n1,2\n" }]), said: /the row has more than/, inRows: true },
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-doors-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function drained(values: AsyncIterable<unknown>): Promise<void> {
  for await (const value of values) {
    expect(value).toBeDefined();
  }
}

const where = () => ({ target: folder, fileName: () => "saved.zip", force: false });

describe("an archive with", () => {
  it.each(Object.entries(bad))("%s is refused at every door", async (_, { archive, said, inRows }) => {
    const path = join(folder, "bad.zip");
    await writeFile(path, archive);
    const takings: (() => Promise<unknown>)[] = [
      ...[path, archive].map((source) => () => drained(openArchive(source).files())),
      () => drained(openArchive(streamOf(archive)).files()),
      () => drained(openArchive(streamOf(archive)).rows()),
      () => drained(openArchive(path).rows({ columns: "union" })),
      () => openArchive(archive).toZip(),
      () => openArchive(streamOf(archive)).toZip(),
      () => mergeArchives([path], join(folder, "merged.zip")),
      ...(inRows === true
        ? []
        : (["content", "structure"] as const).map(
            (verify) => () => saveArchive(streamOf(archive), { ...where(), verify }),
          )),
    ];
    for (const [number, take] of takings.entries()) {
      const error = await take().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      const summary = error instanceof TradewireError ? error.summary : error;
      expect([number, summary]).toEqual([number, expect.stringMatching(said)]);
    }
    expect(await readdir(folder)).toEqual(["bad.zip"]);
  });

  it("an empty folder is read", async () => {
    const archive = rawZip([{ name: "c/", content: "", stored: true }, one]);
    expect(Object.keys((await openArchive(archive).toZip()).files)).toEqual(["c/", one.name]);
    expect((await saveArchive(streamOf(archive), where())).entries.map(({ name }) => name)).toEqual([one.name]);
  });
});

describe("a source that is silent", () => {
  const takings: Readonly<Record<string, (archive: Archive) => Promise<unknown>>> = {
    files: (archive) => drained(archive.files()),
    rows: (archive) => drained(archive.rows()),
    "rows of all columns": (archive) => drained(archive.rows({ columns: "union" })),
    toZip: (archive) => archive.toZip(),
  };

  it.each(
    Object.entries(takings).flatMap(([name, take]) => [0, 10, 60, 150].map((size) => [name, size, take] as const)),
  )("is left at once when the signal is aborted: %s after %i bytes", async (_, size, take) => {
    const before = await temporaryFolders();
    const controller = new AbortController();
    let silent: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      silent = resolve;
    });
    async function* source() {
      if (size > 0) {
        yield good.subarray(0, size);
      }
      silent();
      await new Promise(() => undefined);
    }
    const taken = take(openArchive(source(), { signal: controller.signal }));
    const outcome = taken.catch((reason: unknown) => reason);
    await waiting;
    controller.abort("enough");
    expect(await outcome).toBeInstanceOf(CanceledError);
    expect(await outcome).toMatchObject({ cause: "enough" });
    await onlyLeft(before);
  });

  it.each(Object.entries(takings))("is left at once where it is a pipe: %s", async (_, take) => {
    const path = join(folder, "pipe");
    expect(spawnSync("mkfifo", [path]).status).toBe(0);
    await writeFile(join(folder, "part"), good.subarray(0, 60));
    const writer = spawn("sh", ["-c", "{ cat part; echo written >&2; exec sleep 600; } > pipe"], { cwd: folder });
    const gone = once(writer, "exit");
    const controller = new AbortController();
    const taken = take(openArchive(path, { signal: controller.signal }));
    const outcome = taken.catch((reason: unknown) => reason);
    await once(writer.stderr, "data");
    controller.abort();
    expect(await outcome).toBeInstanceOf(CanceledError);
    expect(writer.exitCode).toBeNull();
    writer.kill();
    await gone;
  });

  it("is not even asked where the signal is aborted already", async () => {
    const asked: string[] = [];
    for (const [name, take] of Object.entries(takings)) {
      async function* source() {
        asked.push(name);
        yield good;
      }
      const taken = take(openArchive(source(), { signal: AbortSignal.abort() }));
      await expect(taken).rejects.toBeInstanceOf(CanceledError);
    }
    expect(asked).toEqual([]);
  });

  it("is left by the saving of an archive", async () => {
    const controller = new AbortController();
    async function* source() {
      yield good.subarray(0, 50);
      setImmediate(() => controller.abort());
      await new Promise(() => undefined);
    }
    for (const verify of ["content", "structure"] as const) {
      const saving = saveArchive(source(), { ...where(), verify, signal: controller.signal });
      await expect(saving).rejects.toBeInstanceOf(CanceledError);
    }
    expect(await readdir(folder)).toEqual([]);
  });
});

/** The folders in which streams are kept while their rows are read. */
async function temporaryFolders(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => /^tradewire-[A-Za-z0-9]{6}$/.test(name));
}

/** Wait until no folder is left but those. Other tests may have some of their own for a while. */
async function onlyLeft(before: readonly string[]): Promise<void> {
  await eventually(async () => (await temporaryFolders()).every((name) => before.includes(name)));
}
