import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { anyPack, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { csvZip, cutEvery, noise, zipOf } from "../support/archives.js";
import { type Outcome, run, startCommand } from "../support/command.js";
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

describe.each(["grpc", "rest"] as const)("tradewire export over %s", (transport) => {
  const wire = transport === "grpc" ? "grpc" : "raw";

  it("saves into the folder it is run in, its path on standard output and the rest on the other", async () => {
    await using server = await serveExport(wire, good());
    const outcome = await run(options(transport, server), { cwd: folder, terminal: { columns: 120, rows: 20 } });
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 0, out: `${join(folder, NAME)}\n` });
    const sha256 = createHash("sha256").update(archive).digest("hex");
    expect(outcome.err).toMatch(
      new RegExp(`^\\d+\\.\\d KiB in \\d+\\.\\d s, SHA-256 ${sha256}, content verified\nfile +bytes\n`),
    );
    expect(outcome.err).toContain("chain-1-trades-1-3000.csv  408004\n");
    expect((await readFile(join(folder, NAME))).equals(archive)).toBe(true);
    expect(await readdir(folder)).toEqual([NAME]);
  });

  it.each([[["--json"]], [[]]])("prints a JSON object, and nothing else, in a pipe with %j", async (format) => {
    await using server = await serveExport(wire, good());
    const outcome = await run([...options(transport, server), ...format, "--to", join(folder, "mine.zip")]);
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(outcome.out.endsWith("}\n")).toBe(true);
    expect(JSON.parse(outcome.out)).toMatchObject({
      path: join(folder, "mine.zip"),
      bytes: archive.length,
      entries: [{ name: "chain-1-trades-1-3000.csv", size: 408_004 }],
      extensions: transport === "grpc" ? [{ value: "all rows" }] : [],
    });
  });

  it("tells which check was made", async () => {
    await using server = await serveExport(wire, good());
    const args = [...options(transport, server), "--verify", "structure", "--force", "--to", folder];
    expect((await run(args, { terminal: { columns: 120, rows: 20 } })).err).toContain(", structure verified\n");
    expect(JSON.parse((await run([...args, "--json"])).out)).toMatchObject({ verified: "structure" });
  });

  it("makes the folder where the path ends in a separator", async () => {
    await using server = await serveExport(wire, good());
    const outcome = await run([...options(transport, server), "--to", `${join(folder, "a", "b")}/`]);
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(outcome.out)).toMatchObject({ path: join(folder, "a", "b", NAME) });
  });

  it("does not replace a file unless it is forced to", async () => {
    await using server = await serveExport(wire, good());
    await writeFile(join(folder, NAME), "mine");
    const refused = await run([...options(transport, server), "--to", folder]);
    presentable(refused);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toBe(
      `tradewire: ${join(folder, NAME)}: file already exists\nChoose another name, or use --force to overwrite the file.\n`,
    );
    expect(await readFile(join(folder, NAME), "utf8")).toBe("mine");
    expect(await run([...options(transport, server), "--to", folder, "--force"])).toMatchObject({ code: 0 });
    expect((await readFile(join(folder, NAME))).equals(archive)).toBe(true);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
    ["SIGTERM", 143],
  ] as const)("ends on %s with nothing left in the folder, and with %d", async (signal, code) => {
    await using server = await serveExport(wire, { ...good(), chunks: good().chunks.slice(0, 2), end: "wait" });
    const { interrupt, ended } = startCommand([...options(transport, server), "--to", folder]);
    await server.asked;
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^\.tradewire-[\w-]+\.part$/)]);
    interrupt(signal);
    const outcome = await ended;
    presentable(outcome);
    expect(outcome).toMatchObject({ code, out: "" });
    expect(await readdir(folder)).toEqual([]);
    await server.closed;
  });

  it("tells the reasons of the node's details once, and other details in full", async () => {
    const type = "type.googleapis.com/vega.ErrorDetail";
    const told = { "@type": type, code: 20_002, message: "no such range", inner: "7" };
    const silent = { "@type": type, code: 20_003, message: "", inner: "" };
    const other = { "@type": "node.example/other.Thing", message: "no such range" };
    const details = transport === "grpc" ? [told, silent] : [told, silent, other];
    const end = { code: Code.Internal, message: "segment 3 cannot be read", details };
    await using server = await serveExport(wire, { ...good(), end });
    const { err } = await run([...options(transport, server), "--to", folder]);
    const [summary, , ...lines] = err.trimEnd().split("\n");
    expect(summary).toBe("tradewire: the node answered INTERNAL: segment 3 cannot be read: no such range: 7");
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual(details.slice(1));
  });

  it("tells the node's error, with its details", async () => {
    const details = [{ "@type": "type.googleapis.com/vega.ErrorDetail", code: 1, message: "\x1b[2J", inner: "x" }];
    const end = { code: Code.Internal, message: "segment 3 \x1b[31mis gone", details };
    await using server = await serveExport(wire, { ...good(), end });
    const outcome = await run([...options(transport, server), "--to", folder]);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toMatch(
      /^tradewire: the node answered INTERNAL: segment 3 {2}\[31mis gone: {2}\[2J: x\nThe node failed\./,
    );
    expect(JSON.parse(outcome.err.split("\n  ")[1] ?? "")).toEqual(details[0]);
    const machine = await run([...options(transport, server), "--to", folder, "--json"]);
    expect(machine).toMatchObject({ code: 1, err: "" });
    expect(JSON.parse(machine.out)).toMatchObject({
      error: {
        name: "NodeError",
        code: "INTERNAL",
        // One line, and nothing that steers a terminal, in the message and in the details.
        message: "the node answered INTERNAL: segment 3  [31mis gone:  [2J: x",
        details,
        transport,
      },
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it("prints no JSON that looks complete when the node fails after rows, or before the first one", async () => {
    // Lines of random digits hardly compress, so that the first chunks contain rows.
    const lines = Array.from({ length: 4 }, (_, at) => `${at},${noise(60_000, at + 1).toString("base64")}\n`);
    const { chunks } = good(await zipOf({ "chain-1-trades-1-3000.csv": Buffer.from(`id,note\n${lines.join("")}`) }));
    expect(chunks.length).toBeGreaterThan(2);
    const end = { code: Code.Internal, message: "segment 3 is gone", details: [] };
    const failed = async (before: Script["chunks"]) => {
      await using server = await serveExport(wire, { ...good(), chunks: before, end });
      return await run([...options(transport, server), "--output", "json"]);
    };
    const [late, early] = [await failed(chunks.slice(0, 2)), await failed([])];
    expect([late.code, early.code]).toEqual([1, 1]);
    expect(late.out).toMatch(/^\[\n\{"id":"0","note":/);
    expect(() => JSON.parse(late.out)).toThrow(SyntaxError);
    expect(JSON.parse(early.out)).toMatchObject({ error: { message: expect.stringContaining("segment 3 is gone") } });
  });

  it("tells that the node is down", async () => {
    const { url } = await serveExport(wire, good()).then(async (server) => {
      await server[Symbol.asyncDispose]();
      return server;
    });
    const outcome = await run([...options(transport, { url }), "--to", folder]);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toBe(
      `tradewire: the connection was refused (${url})\n` +
        "Check that the server is running, that the URL is correct, and that the network works. " +
        `${url} is set by --${transport}-url. \`tradewire devnode\` starts a local node.\n`,
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("tradewire export", () => {
  it("takes a table by its enum name, and goes without extensions where it is told to", async () => {
    const script = { ...good(), chunks: [{ contentType: "application/zip", data: archive }] };
    await using server = await serveExport("grpc", script);
    const args = options("grpc", server).map((arg) => (arg === "trades" ? "TABLE_TRADES" : arg));
    const missing = await run([...args, "--to", folder]);
    expect(missing).toMatchObject({ code: 1, out: "" });
    expect(missing.err).toContain("the first chunk has no extensions\n");
    expect(await run([...args, "--to", folder, "--extensions", "optional"])).toMatchObject({ code: 0 });
  });

  it("refuses a file in the archive whose name would steer a terminal, and does not print it as it is", async () => {
    const hostile = await zipOf({ "a\x1b[2Jb.csv": Buffer.from("a\n") });
    await using server = await serveExport("grpc", good(hostile));
    const outcome = await run([...options("grpc", server), "--to", folder]);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toContain("a\\u001b[2Jb.csv");
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    [[], "missing --table <name>"],
    [["--table", "nothing", "--from-block", "1", "--to-block", "2"], 'unknown table "nothing"'],
    [
      ["--table", "trades", "--from-block", "x", "--to-block", "2"],
      'tradewire: --from-block must be a block height, a whole number from 1, such as 1500, 5k or 1M (got "x")',
    ],
    [
      ["--table", "trades", "--from-block", "-x", "--to-block", "2"],
      'tradewire: --from-block must be a block height, such as 1500, 5k or 1M, or count from the last block, such as -100k (got "-x")',
    ],
    [
      ["--table", "trades", "--from-block", "0", "--to-block", "2"],
      "--from-block must be a whole number from 1 (got 0)",
    ],
    [["--table", "trades", "--from-block", "3", "--to-block", "2"], "--from-block 3 is after --to-block 2"],
    [[...RANGE, "--transport", "smoke"], "--transport: unknown transport"],
    [[...RANGE, "--grpc-url", "127.0.0.1:3007"], "must be a URL such as"],
    [
      [...RANGE, "-o", "trades.zip"],
      "\nDid you mean --to trades.zip? Allowed choices are zip, table, json, jsonl, csv",
    ],
    [[...RANGE, "-v"], "For the version, use -V or --version; for a log of all calls, --verbose."],
    [[...RANGE, "--unknown"], "unknown option '--unknown'"],
    [["--tabel", "trades"], "unknown option '--tabel'\nDid you mean --table? Try `tradewire export --help`.\n"],
    [[...RANGE, "--transport", "grcp"], "Did you mean grpc? Use auto, or one or more of grpc, grpc-js, rest."],
    [
      [...RANGE, "more"],
      "unexpected argument 'more'\nTo filter, use --market more or --party more. Try `tradewire export --help`.",
    ],
  ])("refuses %j", async (args, said) => {
    const outcome = await run(["export", ...args, ...(args.includes("--to") ? [] : ["--to", folder])]);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 2, out: "" });
    expect(outcome.err).toContain(said);
    expect(await readdir(folder)).toEqual([]);
  });

  it("says where the folder is missing, before the node is asked", async () => {
    const outcome = await run([
      "export",
      ...RANGE,
      "--grpc-url",
      "http://127.0.0.1:1",
      "--to",
      join(folder, "no", "x.zip"),
    ]);
    presentable(outcome);
    expect(outcome.code).toBe(1);
    expect(outcome.err).toBe(
      `tradewire: ${join(folder, "no")}: no such file or directory\nCreate the folder first, or choose another path.\n`,
    );
  });
});
