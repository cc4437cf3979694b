import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  type AssembleOptions,
  assemble,
  type ExportChunk,
  type ExportResult,
  NodeError,
  ProtocolError,
  TradewireError,
} from "tradewire";
import { csvZip, cutAt, cutEvery, noise } from "../../support/archives.js";
import { runs } from "../../support/tier.js";

const extension = { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "trades" };
const object = { code: Code.Internal, message: "segment 3 is gone", details: [extension] };

let archive: Buffer;
beforeAll(async () => {
  archive = await csvZip(5000);
});

function result(data: Uint8Array | string, more: Partial<ExportResult> = {}): ExportChunk {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  return { result: { contentType: "application/zip", data: bytes, extensions: [], ...more } };
}

function first(data: Uint8Array | string, more: Partial<ExportResult> = {}): ExportChunk {
  return result(data, { extensions: [extension], ...more });
}

/** All results, and the error at the end where there is one. */
async function run(chunks: readonly ExportChunk[], extensions: AssembleOptions["extensions"] = "required") {
  async function* source() {
    yield* chunks;
  }
  const results: ExportResult[] = [];
  let error: unknown;
  try {
    for await (const part of assemble(source(), { extensions })) {
      results.push(part);
    }
  } catch (reason) {
    error = reason;
  }
  return { results, bytes: Buffer.concat(results.map(({ data }) => data)), error };
}

async function failure(chunks: readonly ExportChunk[], rule?: AssembleOptions["extensions"]): Promise<TradewireError> {
  const { error } = await run(chunks, rule);
  if (error instanceof TradewireError) {
    expect(error.advice).not.toBe("");
    return error;
  }
  throw new Error(`it ended with ${String(error)}`);
}

function lostRows(error: TradewireError): void {
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.code).toBe(Code.DataLoss);
}

describe("assemble", () => {
  it("gives the results of a whole archive on, however it is cut", async () => {
    const cuts = fc.array(fc.nat(archive.length), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        const pieces = cutAt(archive, places);
        const { results, bytes, error } = await run(
          pieces.map((piece, index) => (index === 0 ? first(piece) : result(piece, { contentType: "" }))),
        );
        expect(error).toBeUndefined();
        expect(bytes.equals(archive)).toBe(true);
        expect(results.map(({ extensions }) => extensions.length)).toEqual(pieces.map((_, at) => (at === 0 ? 1 : 0)));
      }),
      { numRuns: runs(50) },
    );
  });

  it("takes empty chunks anywhere, gives the first of them on for its extensions, and drops the others", async () => {
    const [a = archive, b = archive] = cutAt(archive, [1000]);
    const { results, bytes, error } = await run([first(""), result(""), result(a), result(""), result(b), result("")]);
    expect(error).toBeUndefined();
    expect(bytes.equals(archive)).toBe(true);
    expect(results.map(({ data }) => data.length)).toEqual([0, a.length, b.length]);
    expect(results[0]?.extensions).toEqual([extension]);
  });

  it("refuses a stream without chunks", async () => {
    const error = await failure([]);
    lostRows(error);
    expect(error.summary).toBe("the stream of the export is empty");
  });

  describe("extensions", () => {
    it("are required on the first chunk", async () => {
      const error = await failure([result(archive)]);
      lostRows(error);
      expect(error.summary).toBe("the first chunk has no extensions");
      expect(error.advice).toContain('set extensions to "optional"');
    });

    it("cannot come on a later chunk instead", async () => {
      const [a = archive, b = archive] = cutAt(archive, [1000]);
      expect((await failure([result(a), first(b)])).summary).toBe("the first chunk has no extensions");
    });

    it("may be missing where they are optional", async () => {
      expect((await run([result(archive)], "optional")).error).toBeUndefined();
    });

    it.each(["google.protobuf.StringValue", "", "type.googleapis.com/"])("may not have the @type %j", async (type) => {
      for (const rule of ["required", "optional"] as const) {
        const error = await failure([result(archive, { extensions: [extension, { "@type": type }] })], rule);
        lostRows(error);
        expect(error.summary).toBe(`an extension of chunk 1 has the invalid @type ${JSON.stringify(type)}`);
      }
    });

    it("are checked on later chunks too", async () => {
      const [a = archive, b = archive] = cutAt(archive, [1000]);
      const error = await failure([first(a), result(b, { extensions: [{ "@type": "x" }] })]);
      expect(error.summary).toBe('an extension of chunk 2 has the invalid @type "x"');
    });
  });

  describe("the content type", () => {
    it.each(["application/zip", "Application/ZIP", "application/zip; charset=binary", " application/zip "])(
      "may be %j",
      async (contentType) => {
        expect((await run([first(archive, { contentType })])).error).toBeUndefined();
      },
    );

    it("must be on the first chunk", async () => {
      const error = await failure([first(archive, { contentType: "" })]);
      expect(error).toBeInstanceOf(ProtocolError);
      expect(error.code).toBe(Code.Internal);
      expect(error.summary).toMatch(
        /^the content type of chunk 1 must be "application\/zip" \(got none\); it starts with "PK/,
      );
    });

    it("must be an archive's on every chunk that has one", async () => {
      const [a = archive, b = archive] = cutAt(archive, [1000]);
      const error = await failure([first(a), result(b, { contentType: "text/csv" })]);
      expect(error).toBeInstanceOf(ProtocolError);
      expect(error.code).toBe(Code.Internal);
      expect(error.summary).toMatch(/^the content type of chunk 2 must be "application\/zip" \(got "text\/csv"\)/);
    });

    it("is quoted together with what came instead", async () => {
      const page = result("<!DOCTYPE html><title>502 Bad Gateway</title>", { contentType: "text/html" });
      expect((await failure([page], "optional")).summary).toBe(
        `unexpected response with content type text/html; it starts with "<!DOCTYPE html><title>502 Bad Gateway</title>"`,
      );
    });
  });

  describe("an error chunk", () => {
    const parts = () => cutEvery(archive, 1000).map((piece, index) => (index === 0 ? first(piece) : result(piece)));

    it.each([0, 1, 3, 6])("is thrown where %d chunks came before it", async (count) => {
      const chunks = parts();
      expect(chunks).toHaveLength(6);
      const { results, error } = await run([...chunks.slice(0, count), { error: object }, ...chunks.slice(count)]);
      expect(results).toHaveLength(count);
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({ object, code: Code.Internal, details: [extension] });
      expect(error).toHaveProperty("summary", "the node answered INTERNAL: segment 3 is gone");
    });

    it("wins over whatever else follows the archive", async () => {
      expect(await failure([...parts(), result("\n"), { error: object }])).toBeInstanceOf(NodeError);
    });
  });

  describe("what follows the archive", () => {
    it.each([
      ["in a chunk of its own", 0],
      ["in the archive's last chunk", 1],
    ])("is the node's error where it is an error object, %s", async (_, together) => {
      const json = JSON.stringify({ error: object });
      const chunks = together
        ? [first(Buffer.concat([archive, Buffer.from(json)]))]
        : [first(archive), ...cutEvery(Buffer.from(json), 7).map((piece) => result(piece))];
      const { bytes, error } = await run(chunks);
      expect(bytes.equals(archive)).toBe(true);
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({ object });
    });

    it.each([
      ["a line feed", "\n", '1 byte follows the archive\'s end: "\\n"'],
      ["another object", '{"result":{}}', '13 bytes follow the archive\'s end: "{\\"result\\":{}}"'],
      ["an error that is no object", '{"error":"x"}', "13 bytes follow"],
      ["an error object that is cut short", '{"error":{"code":13', "19 bytes follow"],
      ["a page", `<html>${"x".repeat(994)}`, "1000 bytes follow"],
    ])("is refused where it is %s", async (_, text, summary) => {
      const error = await failure([first(archive), result(text)]);
      lostRows(error);
      expect(error.summary).toContain(summary);
    });

    it("is read no further than 1 MiB", async () => {
      const error = await failure([first(archive), ...cutEvery(noise(1_500_000), 400_000).map((data) => result(data))]);
      expect(error.summary).toContain("more than 1048576 bytes follow the archive's end");
    });
  });

  it("refuses what is no ZIP archive, from its first byte", async () => {
    const error = await failure([first(""), result("a,b\n1,2\n")]);
    lostRows(error);
    expect(error.summary).toBe('the response is not a ZIP archive; it starts with "a,b\\n1,2\\n"');
  });

  it("refuses an archive that is cut short, at every place", async () => {
    const size = fc.nat(archive.length - 1);
    await fc.assert(
      fc.asyncProperty(size, async (length) => {
        const error = await failure([first(archive.subarray(0, length))]);
        lostRows(error);
        expect(error.summary).toContain(`truncated: the stream ended after ${length} bytes`);
      }),
      { numRuns: runs(50) },
    );
  });

  it("refuses an archive with a line feed after each chunk", async () => {
    const chunks = cutEvery(archive, 1000).map((piece, index) => {
      const data = Buffer.concat([piece, Buffer.from("\n")]);
      return index === 0 ? first(data) : result(data);
    });
    const error = await failure(chunks);
    lostRows(error);
    expect(error.summary).toContain("does not cover 5 of the");
  });

  it("takes the error object behind an archive that did not end, or to which bytes were added", async () => {
    const appended = Buffer.from(JSON.stringify({ error: object }));
    const cut = archive.subarray(0, archive.length - 300);
    const withLineFeed = Buffer.concat([archive.subarray(0, 1000), Buffer.from("\n"), archive.subarray(1000)]);
    for (const body of [cut, withLineFeed]) {
      const error = await failure([result(Buffer.concat([body, appended]))], "optional");
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({ code: Code.Internal, details: [extension] });
      expect(error.summary).toContain("segment 3 is gone");
    }
  });
});
