// The chunks of deployed nodes have about 1 MiB. Where several exports run at once over gRPC, their data is received in parts,
// before a chunk is complete.

import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "@jest/globals";
import { createClient, type ExportOptions, type NetworkHistoryExport, ProtocolError } from "tradewire";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { anyFromObject } from "../../support/any.js";
import { noise } from "../../support/archives.js";
import { rawZip } from "../../support/raw-zip.js";
import { envelope, serveStreams } from "../../support/servers.js";

const KIB = 1024;
const ZIP = "application/zip";
const REQUEST = { table: "trades", fromBlock: 1, toBlock: 1000 } as const;
const CONTENT = noise(600 * KIB);
const ARCHIVE = rawZip([{ name: "chain-1-trades-1-1000.csv", content: CONTENT }]);
const NOTE = anyFromObject({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "a note" });

/** A chunk as protobuf writes it: its type, its data, and its extensions. */
const chunk = (data: Uint8Array, contentType = ZIP, extensions: (typeof NOTE)[] = []) =>
  toBinary(HttpBodySchema, create(HttpBodySchema, { contentType, data, extensions }));

const field = (number: number, value: Uint8Array) =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(value).finish();

interface Sent {
  readonly message: Uint8Array;
  /** The message's flags; 1 for a compressed one. */
  readonly flags?: number;
}

/** The number of exports beside the one that is used: with these, chunks are received in parts. */
const BESIDE = 2;

/** Use an export that is answered with messages, of which the last one lacks a byte if it is not complete. */
async function exported<T>(
  messages: readonly Sent[],
  use: (download: NetworkHistoryExport) => Promise<T>,
  {
    isComplete = true,
    beside = BESIDE,
    ...options
  }: ExportOptions & {
    readonly isComplete?: boolean;
    readonly beside?: number;
  } = {},
): Promise<T> {
  let begun = 0;
  const server = await serveStreams((stream) => {
    begun += 1;
    stream.respond(
      { ":status": 200, "content-type": "application/grpc+proto", "grpc-encoding": "gzip" },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const sent = Buffer.concat(messages.map(({ message, flags }) => envelope(message, flags)));
    if (begun <= beside) {
      stream.write(envelope(chunk(first))); // It goes on as long as the client.
    } else if (isComplete) {
      stream.end(sent);
    } else {
      stream.write(sent.subarray(0, -1));
    }
  });
  try {
    await using client = createClient({ grpc: { url: server.url }, retry: { tries: 1 } });
    for (let number = 0; number < beside; number += 1) {
      const download = client.exportNetworkHistory(REQUEST, { extensions: "optional" });
      await download.bytes()[Symbol.asyncIterator]().next();
    }
    return await use(client.exportNetworkHistory(REQUEST, { extensions: "optional", ...options }));
  } finally {
    await server.close();
  }
}

async function bytesOf(download: NetworkHistoryExport): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of download.bytes()) {
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const failing = (use: Promise<unknown>) =>
  use.then(
    () => undefined,
    (reason: unknown) => reason,
  );

const [first, rest] = [ARCHIVE.subarray(0, 10), ARCHIVE.subarray(10)];

const SIZES = [1, 128 * KIB - 30, 128 * KIB - 18, 128 * KIB, 128 * KIB + 1, 256 * KIB, 300_000, ARCHIVE.length];

test.each([0, BESIDE].flatMap((beside) => SIZES.map((size) => [beside, size] as const)))(
  "beside %d others, the archive is whole in chunks of %d bytes, which are counted as the node sent them",
  async (beside, size) => {
    const data = size === 1 ? [first.subarray(0, 1), first.subarray(1, 2), ARCHIVE.subarray(2)] : [];
    for (let at = size === 1 ? ARCHIVE.length : 0; at < ARCHIVE.length; at += size) {
      data.push(ARCHIVE.subarray(at, at + size));
    }
    const messages = data.map((each) => ({ message: chunk(each) }));
    const progress: { bytes: number; chunks: number }[] = [];
    const onProgress = (now: { bytes: number; chunks: number }) => progress.push(now);
    expect((await exported(messages, bytesOf, { onProgress, beside })).equals(ARCHIVE)).toBe(true);
    expect(progress.at(-1)).toEqual({ bytes: ARCHIVE.length, chunks: data.length });
    const sizes = await exported(
      messages,
      async (download) => {
        const lengths: (number | undefined)[] = [];
        for await (const { result } of download.chunks()) {
          lengths.push(result?.data.length);
        }
        return lengths;
      },
      { beside },
    );
    expect(sizes).toEqual(data.map(({ length }) => length));
  },
);

describe("a large chunk", () => {
  test("is passed on before it is complete", async () => {
    const messages = [{ message: chunk(first) }, { message: chunk(rest) }];
    const received = async (download: NetworkHistoryExport) => {
      let size = 0;
      for await (const part of download.bytes()) {
        size += part.length;
        if (size > 500 * KIB) {
          break;
        }
      }
      return size;
    };
    expect(await exported(messages, received, { isComplete: false })).toBeGreaterThan(500 * KIB);
  });

  test.each<[what: string, sent: Sent]>([
    ["compressed", { message: gzipSync(chunk(rest)), flags: 1 }],
    ["with its data before its type", { message: Buffer.concat([field(2, rest), field(1, Buffer.from(ZIP))]) }],
    ["with extensions before its data", { message: Buffer.concat([field(3, toAny()), chunk(rest)]) }],
    ["with fields that no definition has", { message: Buffer.concat([chunk(rest), field(9, noise(200 * KIB))]) }],
    ["without a type", { message: field(2, rest) }],
  ])("is read: %s", async (_, sent) => {
    expect((await exported([{ message: chunk(first) }, sent], bytesOf)).equals(ARCHIVE)).toBe(true);
  });

  test("brings its extensions, which may be long", async () => {
    const long = anyFromObject({ "@type": NOTE.typeUrl, reason: "a".repeat(200 * KIB) });
    const messages = [{ message: chunk(first, ZIP, [NOTE]) }, { message: chunk(rest, ZIP, [long]) }];
    expect((await exported(messages, bytesOf, { extensions: "required" })).equals(ARCHIVE)).toBe(true);
  });

  test.each<[what: string, message: Uint8Array, summary: string]>([
    ["two contents", Buffer.concat([chunk(rest), field(2, Buffer.from("more"))]), "does not match its definition"],
    ["another type", chunk(rest, "application/gzip"), 'the content type of chunk 2 must be "application/zip"'],
    [
      "another type behind its data",
      Buffer.concat([chunk(rest), field(1, Buffer.from("text/plain"))]),
      'the content type of chunk 2 must be "application/zip"',
    ],
    ["data that ends after it", Buffer.concat([field(1, Buffer.from(ZIP)), cutField(rest)]), "does not match"],
  ])("is refused: %s", async (_, message, summary) => {
    const reason = await failing(exported([{ message: chunk(first) }, { message }], bytesOf));
    expect(reason).toBeInstanceOf(ProtocolError);
    expect(reason).toMatchObject({ summary: expect.stringContaining(summary) });
  });
});

function toAny(): Uint8Array {
  return new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(NOTE.typeUrl)
    .tag(2, WireType.LengthDelimited)
    .bytes(NOTE.value)
    .finish();
}

/** A field of data whose length says one byte more. */
function cutField(data: Uint8Array): Uint8Array {
  return new BinaryWriter()
    .tag(2, WireType.LengthDelimited)
    .uint32(data.length + 1)
    .raw(data)
    .finish();
}
