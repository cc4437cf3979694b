import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { serveNode } from "../support/node.js";

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 4, blocksPerSegment: 10, blockMs: 0, chainId: "cli-1" });
  folder = await mkdtemp(join(tmpdir(), "tradewire-segments-"));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const on = (command: string, ...options: string[]) => [
  command,
  ...["--transport", "grpc", "--grpc-url", node.grpcUrl],
  ...options,
];
const range = (from: number, to: number) => [
  "--table",
  "trades",
  "--from-block",
  String(from),
  "--to-block",
  String(to),
];

describe("tradewire segments", () => {
  it.each(["grpc", "grpc-js", "rest"])(
    "names size, limit and option of a list that is too large over %s",
    async (transport) => {
      const over = ["segments", "--transport", transport, "--grpc-url", node.grpcUrl, "--rest-url", node.restUrl];
      const refused = await run([...over, "--max-message-bytes", "200"]);
      expect(refused).toMatchObject({ code: 1, out: "" });
      expect(refused.err).toMatch(
        /^tradewire: a message is larger than the limit.*\nThe message (has \d{3} bytes, which )?exceeds the limit of 200 bytes\. If this size is expected, raise --max-message-bytes/,
      );
      expect(await run([...over, "--max-message-bytes", "100000"])).toMatchObject({ code: 0, err: "" });
    },
  );

  it("shows contiguous spans, gaps and schema versions", async () => {
    const segment = (from: bigint, databaseVersion: bigint) => ({
      fromHeight: from,
      toHeight: from + 9n,
      databaseVersion,
      chainId: "c",
      historySegmentId: "s",
    });
    await using gappy = await serveNode({
      listAllNetworkHistorySegments: () => ({ segments: [segment(31n, 2n), segment(1n, 1n), segment(11n, 2n)] }),
    });
    const ask = (...more: string[]) => run(["segments", "--transport", "grpc", "--grpc-url", gappy.grpcUrl, ...more]);
    expect((await ask("-o", "table")).out).toBe(
      [
        "fromHeight  toHeight  databaseVersion  chainId  historySegmentId",
        "         1        10                1  c        s",
        "        11        20                2  c        s",
        "        31        40                2  c        s",
        "",
        "                  fromBlock  toBlock  segments",
        "contiguous                1       20         2",
        "contiguous               31       40         1",
        "gap                      21       30",
        "schema version 1          1       10         1",
        "schema version 2         11       20         1",
        "schema version 2         31       40         1",
        "",
      ].join("\n"),
    );
    expect((await ask()).out.split("\n").map((line) => /^\{"fromHeight":"(\d+)"/.exec(line)?.[1])).toEqual([
      "1",
      "11",
      "31",
      undefined,
    ]);
    expect(JSON.parse((await ask("--json")).out)).toMatchObject({
      spans: [
        { fromBlock: "1", toBlock: "20", segments: 2 },
        { fromBlock: "31", toBlock: "40", segments: 1 },
      ],
      gaps: [{ fromBlock: "21", toBlock: "30" }],
      schemas: [{ databaseVersion: "1" }, { databaseVersion: "2", fromBlock: "11" }, { databaseVersion: "2" }],
    });
  });
});

describe("tradewire export", () => {
  it("says which range is nearest to one that the node refuses", async () => {
    const outcome = await run(on("export", ...range(5, 20), "--to", folder));
    expect(outcome).toEqual({
      code: 2,
      out: "",
      err: "tradewire: --from-block 5 is not the first block of a history segment\nCorrect the range: the nearest valid range is 1 to 20; --snap widens it to 1 to 20.\n",
    });
    const beyond = await run(on("export", ...range(1, 99), "--snap", "--to", folder));
    expect(beyond).toMatchObject({ code: 2, out: "" });
    expect(beyond.err).toBe(
      "tradewire: --to-block 99 is in no history segment of the node\nCorrect the range: the nearest valid range is 1 to 40.\n",
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it("widens a range to the boundaries, and says so", async () => {
    const args = on("export", ...range(5, 12), "--snap", "--to", join(folder, "snapped", "/"));
    const { out, err } = await run(args, { terminal: { columns: 120, rows: 20 } });
    expect(out).toBe(`${join(folder, "snapped", "cli-1-trades-1-20.zip")}\n`);
    expect(err).toContain("\nRange widened from 5-12 to 1-20 (--snap).\n");
    const machine = await run(on("export", ...range(5, 12), "--snap", "--json", "--to", join(folder, "json.zip")));
    expect(JSON.parse(machine.out)).toMatchObject({ fromBlock: "1", toBlock: "20" });
    expect((await run(on("export", ...range(1, 20), "--snap", "--output", "csv", "--limit", "1"))).err).toBe("");
  });

  it("prints rows as they arrive", async () => {
    const { code, out, err } = await run(on("export", ...range(21, 40), "--output", "jsonl"));
    expect([code, err]).toEqual([0, ""]);
    const rows = out.trimEnd().split("\n");
    expect(rows).toHaveLength(40);
    expect(rows.map((row) => "buyer_buy_back_fee" in JSON.parse(row))).toEqual([
      ...Array.from({ length: 20 }, () => false),
      ...Array.from({ length: 20 }, () => true),
    ]);
    const csv = await run(on("export", ...range(21, 40), "--output", "csv", "--columns", "seq_num", "--limit", "3"));
    expect(csv).toEqual({ code: 0, err: "", out: "seq_num\n5\n6\n5\n" });
  });

  it.each([
    [["--columns", "id"], "--columns applies to rows"],
    [["--output", "csv", "--json"], "option '--json' cannot be used with option '-o, --output <format>'"],
    [["--to", "-", "--json"], "--resume, --force and --json apply only to an archive"],
    [["--output", "csv", "--to", "x.csv"], "--resume, --force and --json apply only to an archive"],
    [["--to", "-", "--force"], "--resume, --force and --json apply only to an archive"],
    [["--output", "jsonl", "--null", "x"], "--null applies only to csv and table"],
  ])("refuses %j", async (options, said) => {
    const outcome = await run(on("export", ...range(1, 20), ...options), { cwd: folder });
    expect(outcome.code).toBe(2);
    expect(outcome.out + outcome.err).toContain(said);
  });
});

describe("exportNetworkHistory", () => {
  const request = { table: "trades", fromBlock: 5, toBlock: 12 } as const;

  it("asks for the segments only where it has to, and once", async () => {
    const called: string[] = [];
    const client = createClient(
      { transport: "grpc", grpc: { url: node.grpcUrl } },
      {
        interceptors: [
          (next) => (call) => {
            called.push(call.method.name);
            return next(call);
          },
        ],
      },
    );
    const plain = client.exportNetworkHistory(request);
    expect(await plain.range()).toEqual({ fromBlock: 5n, toBlock: 12n });
    expect(called).toEqual([]);
    const snapped = client.exportNetworkHistory(request, { snap: true });
    expect(await snapped.range()).toEqual({ fromBlock: 1n, toBlock: 20n });
    const zip = await snapped.toZip();
    expect(Object.keys(zip.files)).toEqual(["cli-1-trades-1-20.csv"]);
    expect(called).toEqual(["ListAllNetworkHistorySegments", "ExportNetworkHistory"]);
    await expect(client.exportNetworkHistory(request, { check: true }).toZip()).rejects.toMatchObject({
      name: "RequestError",
      summary: "fromBlock 5 is not the first block of a history segment",
      advice: "Correct the range: the nearest valid range is 1 to 10; snap widens it to 1 to 20.",
    });
    expect(called.slice(2)).toEqual(["ListAllNetworkHistorySegments"]);
    await client.close();
  });
});
