import type { ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { anyPack, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { csvZip, cutEvery } from "../support/archives.js";
import { type Outcome, run } from "../support/command.js";
import { main, shell, start, startProcess } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { type ExportServer, type Script, serveExport } from "../support/export-server.js";

const NAME = "chain-1-trades-1-3000.zip";
const RANGE = ["--table", "trades", "--from-block", "1", "--to-block", "3000"];
const extensions = [anyPack(StringValueSchema, create(StringValueSchema, { value: "all rows" }))];

let folder: string;
let archive: Buffer;
beforeAll(async () => {
  archive = await csvZip(300_000);
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-cli-"));
});
afterEach(() => rm(folder, { recursive: true }));

function good(bytes = archive): Script {
  const chunks = cutEvery(bytes, 100_000).map((data) => ({ contentType: "application/zip", data, extensions }));
  return { chunks, disposition: `attachment;filename=${NAME}` };
}

function options(transport: "grpc" | "rest", { url }: Pick<ExportServer, "url">): string[] {
  return ["export", "--transport", transport, `--${transport}-url`, url, ...RANGE];
}

/** What holds for everything that the command writes. */
function presentable({ out, err }: Outcome): void {
  for (const text of [out, err]) {
    expect(text).not.toContain("\x1b");
    expect(text).not.toContain("\r");
    expect(text).not.toMatch(/^\s+at .*:\d+/m);
    expect(text).not.toContain("file://");
    expect(text).not.toContain("Warning");
  }
}

/** Waits until an export has made its file, whose name has the process's id. */
const hasFile = ({ pid }: ChildProcess) =>
  eventually(async () => (await readdir(folder)).some((name) => name.includes(`-${pid}-`)));

describe.each(["grpc", "rest"] as const)("tradewire export over %s", (transport) => {
  const wire = transport === "grpc" ? "grpc" : "raw";

  it("ends on a signal to its process with nothing left in the folder", async () => {
    await using server = await serveExport(wire, { ...good(), chunks: good().chunks.slice(0, 2), end: "wait" });
    const { child, ended } = startProcess([...options(transport, server), "--to", folder]);
    await server.asked;
    await hasFile(child);
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^\.tradewire-[\w-]+\.part$/)]);
    child.kill("SIGTERM");
    const outcome = await ended;
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 143, out: "" });
    expect(await readdir(folder)).toEqual([]);
    await server.closed;
  });

  it("leaves a file behind on SIGKILL, which the next export to the folder removes", async () => {
    await using silent = await serveExport(wire, { ...good(), chunks: good().chunks.slice(0, 2), end: "wait" });
    const killed = startProcess([...options(transport, silent), "--to", folder]);
    await silent.asked;
    await hasFile(killed.child);
    killed.child.kill("SIGKILL");
    await killed.ended;
    const left = await readdir(folder);
    expect(left).toEqual([expect.stringMatching(/^\.tradewire-[\w-]+\.part$/)]);
    // That process is not the one that lives now under the same id.
    const earlier = String(left[0]).replace(/-\d+-\d+-/, `-${process.pid}-1-`);
    const others = [`.tradewire-${"0".repeat(16)}-1-1-${"0".repeat(16)}.part`, ".tradewire-0123.part", "mine.part"];
    others.push(`${left[0]}.txt`);
    for (const name of [earlier, ...others]) {
      await writeFile(join(folder, name), "");
    }

    await using second = await serveExport(wire, { ...good(), chunks: good().chunks.slice(0, 2), end: "wait" });
    const living = startProcess([...options(transport, second), "--to", folder]);
    await second.asked;
    await hasFile(living.child);
    await using server = await serveExport(wire, good());
    expect(await run([...options(transport, server), "--to", folder])).toMatchObject({ code: 0 });
    const now = await readdir(folder);
    expect(now).toEqual(expect.arrayContaining([NAME, ...others]));
    // The one that is left is that of the process that lives.
    expect(now).toHaveLength(others.length + 2);
    expect(now).toEqual(expect.not.arrayContaining(left));
    expect(now).not.toContain(earlier);
    living.child.kill("SIGTERM");
    await living.ended;
    expect((await readdir(folder)).sort()).toEqual([...others, NAME].sort());
  });
});

it("tradewire export writes the archive to standard output", async () => {
  await using server = await serveExport("grpc", good());
  const script = 'tradewire "$@" --to - | tradewire rows - | wc -l';
  const { code, out } = await shell(script, options("grpc", server), folder);
  expect([code, out.trim()]).toEqual([0, "4000"]);
});

describe("tradewire export to a disk", () => {
  /** Run the export in a shell that has prepared `disk`, and list what is there afterwards. */
  async function onDisk(prepare: string, program = "sh", ...before: string[]): Promise<Outcome> {
    await using server = await serveExport("grpc", good());
    const disk = join(folder, "disk");
    await mkdir(disk);
    const script = `${prepare} || exit 77; "$@" --to disk; code=$?; ls -A disk; exit $code`;
    const args = [process.execPath, main, ...options("grpc", server)];
    return await start(program, [...before, "-c", script, "sh", ...args], folder).ended;
  }

  it("whose files may not be that large leaves nothing", async () => {
    const outcome = await onDisk("ulimit -f 64");
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toContain("the file exceeds the system's size limit\nRaise the limit, or export less.\n");
  });

  // Such disks are mounted in a namespace of their own, which not every system permits: there is nothing to see there.
  const mounted = ["unshare", "-rm", "sh"] as const;

  it("that is full leaves nothing", async () => {
    const outcome = await onDisk("mount -t tmpfs -o size=128k tmpfs disk", ...mounted);
    presentable(outcome);
    if (outcome.code !== 77 && !outcome.err.startsWith("unshare")) {
      expect(outcome).toMatchObject({ code: 1, out: "" });
      expect(outcome.err).toContain("the disk is full\nFree some space, or choose a folder on another disk.\n");
    }
  });

  it("that is read-only says so", async () => {
    const outcome = await onDisk("mount -t tmpfs -o ro tmpfs disk", ...mounted);
    presentable(outcome);
    if (outcome.code !== 77 && !outcome.err.startsWith("unshare")) {
      expect(outcome).toMatchObject({ code: 1, out: "" });
      expect(outcome.err).toBe(
        `tradewire: ${join(folder, "disk")}: the disk is read-only\nChoose a folder on another disk.\n`,
      );
    }
  });
});
