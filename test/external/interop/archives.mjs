// This library's archives, read by other programs, and archives of other programs, read by this library.
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { mergeArchives, openArchive } from "tradewire";
import { all, sha256 } from "./compare.mjs";
import { need, run } from "./processes.mjs";
import { once } from "./tools.mjs";

/** A range that crosses a change of the schema, so that its archive has two files. */
const LAST = 4000;

export function archiveCases({ root, folder, tools, clients: { grpc } }) {
  const own = join(root, "test/external/interop");
  const command = (...args) => run(process.execPath, [join(root, "dist/src/cli/main.js"), ...args]);
  const exported = (fromBlock, toBlock) => grpc.exportNetworkHistory({ table: "trades", fromBlock, toBlock });

  /** The files of an archive, as every reader tells them. */
  async function entriesOf(source) {
    const entries = [];
    for await (const file of openArchive(source).files()) {
      const content = Buffer.concat(await all(file.content()));
      entries.push({ name: file.name, size: content.length, sha256: sha256(content) });
    }
    return entries;
  }

  const archives = once(async () => {
    const target = (name) => ({ file: join(folder, name) });
    const saved = await exported(1, LAST).saveTo(target("saved.zip"));
    const joined = await exported(1, LAST).saveTo(target("joined.zip"), { parallel: 4 });
    const halves = [
      await exported(1, 1000).saveTo(target("first.zip")),
      await exported(1001, LAST).saveTo(target("others.zip")),
    ];
    const merged = await mergeArchives(
      halves.map(({ path }) => path),
      target("merged.zip"),
    );
    return Promise.all([saved, joined, merged].map(async ({ path }) => ({ path, entries: await entriesOf(path) })));
  });

  /** Have a program read each of the archives. */
  const read = (program, reader) => async () => {
    await need(program);
    for (const { path, entries } of await archives()) {
      assert.equal(entries.length, 2);
      assert.deepEqual(await reader(path, entries), entries, basename(path));
    }
  };

  /** Have a program write the files of an archive into a folder. */
  const extracted = (program, args) => async (path, entries) => {
    const into = join(folder, `${program}-${basename(path)}-files`);
    await mkdir(into);
    await run(program, args(path, into));
    return Promise.all(
      entries.map(async ({ name }) => {
        const content = await readFile(join(into, name));
        return { name, size: content.length, sha256: sha256(content) };
      }),
    );
  };
  const unzipped = extracted("unzip", (path, into) => ["-q", path, "-d", into]);
  const untarred = extracted("bsdtar", (path, into) => ["-xf", path, "-C", into]);
  const unpacked = extracted("7z", (path, into) => ["x", `-o${into}`, path]);
  const java = async (...args) => {
    await need("javac"); // Java itself may lack what a source file needs.
    return run("java", [join(own, "Archives.java"), ...args]);
  };
  const python = (...args) => run("python3", [join(own, "python/archives.py"), ...args]);
  const go = async (...args) => run(join(await tools.go(), "interop"), args);

  const readers = [
    ["unzip", read("unzip", (path, entries) => run("unzip", ["-tqq", path]).then(() => unzipped(path, entries)))],
    ["bsdtar", read("bsdtar", (path, entries) => run("bsdtar", ["-tf", path]).then(() => untarred(path, entries)))],
    ["7z", read("7z", (path, entries) => run("7z", ["t", path]).then(() => unpacked(path, entries)))],
    ["Python's zipfile", read("python3", async (path) => JSON.parse(await python("read", path)))],
    ["Go's archive/zip", read("go", async (path) => JSON.parse(await go("read", path)))],
    ["Java's ZipFile", read("java", async (path) => JSON.parse(await java("read", path)))],
    ["Java's ZipInputStream", read("java", async (path) => JSON.parse(await java("stream", path)))],
  ];

  /** The CSV files of an export, each in a file of its own. */
  const csvFiles = once(async () => {
    const into = join(folder, "csv");
    await mkdir(into);
    const paths = [];
    for await (const file of exported(1, LAST).files()) {
      paths.push(join(into, file.name));
      await writeFile(paths.at(-1), file.content());
    }
    return paths;
  });
  const expected = once(() => all(exported(1, LAST).rows()));

  /** Have a program write an archive, and read it: as a file, as a stream, and by the command. */
  const written = (program, name, writer) => async () => {
    await need(program);
    const path = join(folder, `${name}.zip`);
    const paths = await csvFiles();
    await writer(path, paths);
    const rows = await expected();
    assert.deepEqual(await all(openArchive(path).rows()), rows);
    assert.deepEqual(await all(openArchive(createReadStream(path)).rows()), rows);
    const lines = (await command("rows", path, "--output", "jsonl")).trim().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      rows,
    );
    const found = JSON.parse(await command("inspect", path, "--json"));
    assert.deepEqual([found.sound, found.files.length], [true, paths.length]);
  };
  const pythonWrites = (form) => written("python3", form, (path, paths) => python("write", form, path, ...paths));
  const zip = (name, ...options) =>
    written("zip", name, (path, paths) => run("zip", ["-q", "-j", ...options, path, ...paths]));

  const writers = [
    ["Go's archive/zip, as a stream", written("go", "go", (path, paths) => go("write", path, ...paths))],
    ["Java's ZipOutputStream", written("java", "java", (path, paths) => java("write", path, ...paths))],
    ["Python's zipfile, stored", pythonWrites("stored")],
    ["Python's zipfile, deflated", pythonWrites("deflated")],
    ["Python's zipfile, ZIP64", pythonWrites("zip64")],
    ["Python's zipfile, as a stream", pythonWrites("streamed")],
    ["zip", zip("zip")],
    ["zip, with descriptors", zip("zip-descriptors", "-fd")],
    ["zip, ZIP64", zip("zip-64", "-fz")],
    [
      "bsdtar",
      written("bsdtar", "bsdtar", (path, paths) =>
        run("bsdtar", [
          "--format",
          "zip",
          "-cf",
          path,
          "-C",
          join(folder, "csv"),
          ...paths.map((one) => basename(one)),
        ]),
      ),
    ],
    ["7z", written("7z", "7z", (path, paths) => run("7z", ["a", "-tzip", path, ...paths]))],
  ];
  return [
    ...readers.map(([name, check]) => [`archives of ours, read by ${name}`, check]),
    ...writers.map(([name, check]) => [`archives of ${name}, read by us`, check]),
  ];
}
