import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  ConnectionError,
  createClient,
  type ErrorObject,
  encodeCsv,
  FileError,
  type LedgerExport,
  NodeError,
  ProtocolError,
  RequestError,
} from "tradewire";
import { eventually } from "../../support/eventually.js";
import { type ExportServer, type Script, serveExport, type Wire } from "../../support/export-server.js";
import { collect, failureOf } from "../../support/listing-clients.js";
import { chunk, head, startRawHttp } from "../../support/raw-http.js";
import { runs, sample } from "../../support/tier.js";

const partyId = "ab".repeat(32);
const lines = [
  "vega_time,quantity,note\n",
  "2024-01-01 00:00:00+00,12,\n",
  '2024-01-01 00:00:01+00,-3,"a ""quoted"", and\nbroken line"\r\n',
  '2024-01-01 00:00:02+00,4,"{""error"":{""code"":13}}"\n',
  "2024-01-01 00:00:03+00,5,Größe 注文 🚀\n",
  '2024-01-01 00:00:04+00,6,"{"\n',
  '2024-01-01 00:00:05+00,7,"{""error"":"\n',
];
const body = Buffer.from(lines.join(""));
const rows = [
  ["2024-01-01 00:00:00+00", "12", null],
  ["2024-01-01 00:00:01+00", "-3", 'a "quoted", and\nbroken line'],
  ["2024-01-01 00:00:02+00", "4", '{"error":{"code":13}}'],
  ["2024-01-01 00:00:03+00", "5", "Größe 注文 🚀"],
  ["2024-01-01 00:00:04+00", "6", "{"],
  ["2024-01-01 00:00:05+00", "7", '{"error":'],
];
/** Where each line ends. */
const ends = lines.map((_, index) => Buffer.byteLength(lines.slice(0, index + 1).join("")));
const rowsBefore = (place: number) => rows.slice(0, Math.max(ends.filter((end) => end <= place).length - 1, 0));
const failure: ErrorObject = { code: Code.Internal, message: 'no "ledger",\nat all', details: [] };

const wires = ["grpc", "raw", "envelopes"] as const;
const clientOf = (wire: Wire, { url }: { readonly url: string }) =>
  createClient(wire === "grpc" ? { transport: "grpc", grpc: { url } } : { transport: "rest", rest: { url } });

/** A script whose parts a test can change between requests. */
const changing = () => {
  const now: { data: Buffer; end: Script["end"] | "close"; pieceSize: number } = {
    data: body,
    end: "close",
    pieceSize: 0,
  };
  const script = {
    get chunks() {
      const middle = Math.floor(now.data.length / 2);
      const parts = [now.data.subarray(0, middle), now.data.subarray(middle)];
      return parts.map((data) => ({ contentType: "text/csv", data }));
    },
    get end() {
      return now.end === "close" ? undefined : now.end;
    },
    get pieceSize() {
      return now.pieceSize;
    },
  };
  return { now, script: script as Script };
};

async function taken<T>(values: AsyncIterable<T>): Promise<{ all: T[]; error: unknown }> {
  const all: T[] = [];
  try {
    for await (const value of values) {
      all.push(value);
    }
    return { all, error: undefined };
  } catch (error) {
    return { all, error };
  }
}

const valuesOf = (records: readonly object[]) => records.map((record) => Object.values(record));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-ledger-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe.each(wires)("a party's ledger over %s", (wire) => {
  const { now, script } = changing();
  let server: ExportServer;
  let ledger: LedgerExport;
  let close: () => Promise<void>;
  beforeAll(async () => {
    server = await serveExport(wire, script);
    const client = clientOf(wire, server);
    ledger = client.exportLedgerEntries({ partyId });
    close = () => client.close();
  });
  afterAll(async () => {
    await close();
    await server[Symbol.asyncDispose]();
  });

  it("comes as rows, batches, bytes and a file", async () => {
    Object.assign(now, { data: body, end: "close", pieceSize: 0 });
    expect(valuesOf(await collect(ledger.rows()))).toEqual(rows);
    const batches = await collect(ledger.batches());
    expect(batches.flatMap((batch) => batch.rows)).toEqual(rows);
    expect(batches[0]?.columns).toEqual(["vega_time", "quantity", "note"]);
    expect(Buffer.concat(await collect(ledger.bytes())).equals(body)).toBe(true);
    const path = join(folder, `${wire}.csv`);
    expect(await ledger.saveTo(path)).toMatchObject({
      path,
      bytes: body.length,
      rows: 6,
      columns: batches[0]?.columns,
    });
    expect((await readFile(path)).equals(body)).toBe(true);
    const again = await failureOf(() => ledger.saveTo(path));
    expect(again).toBeInstanceOf(FileError);
    expect(await ledger.saveTo(path, { force: true })).toMatchObject({ path });
    await rm(path);
  });

  it("gives the rows before a failure and then the node's error, wherever the failure is", async () => {
    for (const place of sample([...Array(body.length + 1).keys()], 4)) {
      // Without any data, the error is that of the whole response.
      Object.assign(now, { data: body.subarray(0, place), end: failure, pieceSize: [0, 1, 7][place % 3] });
      const { all, error } = await taken(ledger.rows());
      expect([place, valuesOf(all)]).toEqual([place, rowsBefore(place)]);
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({
        object: failure,
        method: "datanode.api.v2.TradingDataService/ExportLedgerEntries",
      });
      if (place % 20 === 0) {
        const bytes = await taken(ledger.bytes());
        expect(Buffer.concat(bytes.all).equals(body.subarray(0, place))).toBe(true);
        expect(bytes.error).toMatchObject({ object: failure });
        expect(await failureOf(() => ledger.saveTo(folder))).toMatchObject({ object: failure });
        expect(await readdir(folder)).toEqual([]);
      }
    }
  });

  it("is refused where it ends well inside a row, and cannot be where it ends behind one", async () => {
    const places = Array.from({ length: body.length }, (_place, index) => index + 1);
    for (const place of new Set([...sample(places, 5), ...ends])) {
      Object.assign(now, { data: body.subarray(0, place), end: "close", pieceSize: [0, 7][place % 2] });
      const { all, error } = await taken(ledger.rows());
      expect([place, valuesOf(all)]).toEqual([place, rowsBefore(place)]);
      if (ends.includes(place)) {
        expect(error).toBeUndefined();
      } else {
        expect(error).toBeInstanceOf(ProtocolError);
        expect(error).toMatchObject({ code: Code.DataLoss, summary: expect.stringContaining("the ledger, line ") });
      }
    }
  });

  it("is refused, and saves nothing, where the connection is lost behind a row", async () => {
    Object.assign(now, { data: body.subarray(0, ends[2]), end: "cut", pieceSize: 0 });
    const { error } = await taken(ledger.rows());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(await failureOf(() => ledger.saveTo(folder))).toBeInstanceOf(ConnectionError);
    expect(await readdir(folder)).toEqual([]);
  });
});

const csv = (data: Buffer) => [{ contentType: "text/csv", data }];

describe("an export of the ledger", () => {
  async function exporting<T>(wire: Wire, script: Script, run: (ledger: LedgerExport) => Promise<T>): Promise<T> {
    await using server = await serveExport(wire, script);
    await using client = clientOf(wire, server);
    return await run(client.exportLedgerEntries({ partyId }));
  }

  it.each<[string, Wire, Script, string]>([
    ["without any chunk", "grpc", { chunks: [] }, "the ledger, line 1, field 1: the file is empty"],
    [
      "of another type",
      "grpc",
      { chunks: [{ contentType: "application/zip", data: body }] },
      'the content type of chunk 1 must be "text/csv" (got "application/zip"); it starts with ',
    ],
    [
      "that is a page",
      "raw",
      { chunks: [], page: { status: 200, text: "<h1>hi</h1>" } },
      'unexpected response with content type text/html; it starts with "<h1>hi</h1>"',
    ],
    [
      "with an empty line behind each chunk",
      "raw",
      { chunks: csv(Buffer.concat([body, Buffer.from("\n")])) },
      'the ledger, line 9, field 2 (column "quantity"): the row has only 1 of 3 fields',
    ],
    [
      "with rows of another length",
      "envelopes",
      { chunks: csv(Buffer.from("a,b\n1,2\n3\n")) },
      'the ledger, line 3, field 2 (column "b"): the row has only 1 of 2 fields',
    ],
    [
      "with text behind an error object",
      "raw",
      { chunks: csv(Buffer.from('a\n{"error":{"code":13}}b\n')) },
      'the ledger, line 2, field 1 (column "a"): a quote inside an unquoted field',
    ],
    [
      "of nothing but empty chunks",
      "envelopes",
      { chunks: [...csv(body), ...Array.from({ length: 1001 }, () => ({}))] },
      "the export exceeds the limit of 1000 empty chunks in a row",
    ],
  ])("%s is refused, and none is saved", async (_, wire, script, summary) => {
    await exporting(wire, script, async (ledger) => {
      for (const consume of [
        () => collect(ledger.rows()),
        () => collect(ledger.bytes()),
        () => ledger.saveTo(folder),
      ]) {
        const reason = await failureOf(consume);
        expect(reason).toBeInstanceOf(ProtocolError);
        expect(reason).toMatchObject({
          summary: expect.stringContaining(summary),
          method: expect.stringContaining("ExportLedgerEntries"),
        });
      }
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it("is refused where its end cannot be told from a lost connection", async () => {
    const server = await startRawHttp();
    try {
      const client = createClient({ rest: { url: server.url } });
      const ledger = client.exportLedgerEntries({ partyId });
      server.answer = {
        pieces: [head("200 OK", { "content-type": "text/csv", connection: "close" }), body],
        ending: "end",
      };
      expect(await failureOf(() => collect(ledger.rows()))).toMatchObject({
        name: "ProtocolError",
        summary: "the response has neither a length nor an end marker, so truncation could not be detected",
      });
      const length = { "content-length": String(body.length) };
      server.answer = { pieces: [head("200 OK", { "content-type": "text/csv", ...length }), body], ending: "end" };
      expect(valuesOf(await collect(ledger.rows()))).toEqual(rows);
      const chunked = { "transfer-encoding": "chunked" };
      server.answer = {
        pieces: [head("200 OK", { "content-type": "text/csv", ...chunked }), chunk(body), chunk("")],
        ending: "end",
      };
      expect(valuesOf(await collect(ledger.rows()))).toEqual(rows);
      await client.close();
    } finally {
      await server.close();
    }
  });

  it("without entries has a header alone", async () => {
    await exporting("raw", { chunks: csv(Buffer.from(lines[0] ?? "")) }, async (ledger) => {
      expect(await collect(ledger.rows())).toEqual([]);
      expect(await collect(ledger.batches())).toEqual([{ columns: ["vega_time", "quantity", "note"], rows: [] }]);
      expect(await ledger.saveTo(join(folder, "none.csv"))).toMatchObject({ rows: 0, bytes: 24 });
    });
    await rm(join(folder, "none.csv"));
  });

  it("tells how far it has come, and stops where it is aborted", async () => {
    const abort = new AbortController();
    const seen: object[] = [];
    await using server = await serveExport("grpc", { chunks: [...csv(body), ...csv(Buffer.alloc(0))], end: "wait" });
    await using client = clientOf("grpc", server);
    const onProgress = (progress: object) => seen.push(progress);
    const ledger = client.exportLedgerEntries({ partyId }, { onProgress, signal: abort.signal });
    const saving = failureOf(() => ledger.saveTo(folder));
    await eventually(() => seen.length >= 2);
    abort.abort();
    expect(await saving).toMatchObject({ name: "CanceledError" });
    expect(seen).toEqual([
      { bytes: body.length, chunks: 1 },
      { bytes: body.length, chunks: 2 },
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  it("ends the call where its rows are no longer taken", async () => {
    await using server = await serveExport("grpc", { chunks: csv(body), end: "wait" });
    await using client = clientOf("grpc", server);
    for await (const row of client.exportLedgerEntries({ partyId }).rows()) {
      expect(row["quantity"]).toBe("12");
      break;
    }
    await server.closed;
  });

  it("is saved over REST where gRPC breaks off half way", async () => {
    await using broken = await serveExport("grpc", { chunks: csv(body.subarray(0, ends[2])), end: "cut" });
    await using whole = await serveExport("raw", { chunks: csv(body) });
    await using client = createClient({ grpc: { url: broken.url }, rest: { url: whole.url } });
    const path = join(folder, "second.csv");
    expect(await client.exportLedgerEntries({ partyId }).saveTo(path)).toMatchObject({ rows: 6 });
    expect((await readFile(path)).equals(body)).toBe(true);
    await rm(path);
  });

  it.each<[string | undefined, string]>([
    [
      `attachment;filename=ledger_entries_${partyId}__2024-01-01T00_00_00Z-2025-01-01T00_00_00Z.csv`,
      `ledger_entries_${partyId}__2024-01-01T00_00_00Z-2025-01-01T00_00_00Z.csv`,
    ],
    [undefined, `ledger_entries_${partyId}_.csv`],
    ["attachment;filename=../ledger.csv", `ledger_entries_${partyId}_.csv`],
    [`attachment;filename="ledger_entries_${partyId}/../x.csv"`, `ledger_entries_${partyId}_.csv`],
    [`attachment;filename=ledger_entries_${"cd".repeat(32)}_.csv`, `ledger_entries_${partyId}_.csv`],
    [`attachment;filename=ledger_entries_${partyId}_${"x".repeat(200)}.csv`, `ledger_entries_${partyId}_.csv`],
  ])("named %s is saved in a folder as %s", async (disposition, name) => {
    const target = await mkdtemp(join(folder, "names-"));
    const script = { chunks: csv(body), ...(disposition !== undefined && { disposition }) };
    expect(await exporting("raw", script, (ledger) => ledger.saveTo(target))).toMatchObject({
      path: join(target, name),
    });
    expect(await readdir(target)).toEqual([name]);
    await rm(target, { recursive: true });
  });

  it.each([
    [{ partyId: "network" }, 'partyId must be 64 hex digits (got "network")'],
    [{ partyId: partyId.slice(1) }, "must be 64 hex digits"],
    [{ partyId, assetId: "" }, 'assetId must be 64 hex digits (got "")'],
    [
      { partyId, dateRange: { startTimestamp: new Date("never") } },
      'dateRange.startTimestamp must be a Date, or Unix nanoseconds as a bigint of 64 bits (got "Invalid Date")',
    ],
    [
      { partyId, dateRange: { startTimestamp: 2n, endTimestamp: 2n } },
      "the date range is empty: it starts at 2 and ends at 2",
    ],
  ])("is refused before anything is sent for %j", async (request, summary) => {
    await using client = createClient({ rest: { url: "http://127.0.0.1:9" } });
    const reason = await failureOf(() => client.exportLedgerEntries(request));
    expect(reason).toBeInstanceOf(RequestError);
    expect(reason).toMatchObject({ summary: expect.stringContaining(summary) });
  });
});

describe("any table and any error behind any part of it", () => {
  const value = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.stringMatching(/^[{"}error:,\n\r ]*$/),
    fc.constantFrom('{"error":{"code":13}}', '{"error":', null),
  );
  const table = fc
    .integer({ min: 1, max: 4 })
    .chain((width) => fc.array(fc.array(value, { minLength: width, maxLength: width }), { maxLength: 6 }));
  const bytesOf = async (width: number, wanted: (string | null)[][]) =>
    Buffer.concat(
      await collect(
        encodeCsv(
          Array.from({ length: width }, (_, index) => `c${index}`),
          wanted,
        ),
      ),
    );

  it("are told apart", async () => {
    const { now, script } = changing();
    await using server = await serveExport("raw", script);
    await using client = createClient({ transport: "rest", rest: { url: server.url }, retry: { tries: 1 } });
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.nat(),
        fc.record({ code: fc.integer({ min: 1, max: 16 }), message: fc.string({ unit: "binary" }) }),
        fc.integer({ min: 1, max: 40 }),
        async (wanted, at, { code, message }, pieceSize) => {
          const width = wanted[0]?.length ?? 1;
          const whole = await bytesOf(width, wanted);
          const place = at % (whole.length + 1);
          const object = Buffer.from(JSON.stringify({ error: { code, message: message, details: [] } }));
          const sent = Buffer.concat([whole.subarray(0, place), object]);
          Object.assign(now, { data: sent, pieceSize });
          const { all, error } = await taken(client.exportLedgerEntries({ partyId }).batches());
          const found = all.flatMap((batch) => batch.rows);
          expect(wanted.slice(0, found.length)).toEqual(found);
          expect(
            (await bytesOf(width, wanted.slice(0, found.length + 1))).length > place || found.length === wanted.length,
          ).toBe(true);
          expect(error).toBeInstanceOf(NodeError);
          expect(error).toMatchObject({ object: { code, message: message } });
        },
      ),
      { numRuns: runs(300) },
    );
  });
});
