import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { ConnectionError, ProtocolError } from "tradewire";
import { frame } from "../support/grpc-server.js";
import { chunk, head } from "../support/raw-http.js";
import { grpcHeaders, type NodeAnswer, restHeaders, succeed } from "./answers.js";
import { type Case, failure } from "./case.js";
import { streams } from "./operations.js";

const MIB = 1024 * 1024;
const small = { limits: { maxMessageBytes: 50, maxJsonBytes: 50 } };
const tooLarge = failure(ProtocolError, Code.ResourceExhausted, "a message is larger than the limit");
const timeUp = failure(ConnectionError, Code.DeadlineExceeded, "the deadline of the call passed");
const nothingCame = failure(ConnectionError, Code.DeadlineExceeded, "no data received for 300 ms (idle timeout)");
const onlyHttp1 = { ways: ["body", "envelopes"] as const, because: "a matter of HTTP/1.1 alone" };
const noRawBody = {
  ways: ["grpc", "envelopes"] as const,
  because: "a raw body has no messages that could be too large",
};

function* endless(piece: Uint8Array): Generator<Uint8Array> {
  for (;;) {
    yield piece;
  }
}

/** One message that does not end. */
function endlessMessage(): NodeAnswer {
  return {
    grpc: (asked) => {
      const begin = Buffer.alloc(5);
      begin.writeUInt32BE(2 ** 31, 1);
      return { headers: grpcHeaders(asked), pieces: after(begin, endless(Buffer.alloc(16_384, " "))), ending: "keep" };
    },
    rest: (asked) => ({
      pieces: after(
        Buffer.from(head("200 OK", { ...restHeaders(asked), "transfer-encoding": "chunked" })),
        endless(chunk(Buffer.alloc(16_384, " "))),
      ),
      ending: "keep",
    }),
  };
}

function* after(first: Uint8Array, rest: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield first;
  yield* rest;
}

/** 1 GiB of spaces in 1 MiB of gzip. */
function gzipBomb(): NodeAnswer {
  const member = gzipSync(Buffer.alloc(16 * MIB, " "));
  return {
    grpc: (asked) => ({
      headers: { ...grpcHeaders(asked), "grpc-encoding": "gzip" },
      pieces: [frame(Buffer.concat(Array.from({ length: 64 }, () => member)), 1)],
      ending: { "grpc-status": "0" },
    }),
    rest: (asked) => ({
      pieces: [
        head("200 OK", { ...restHeaders(asked), "content-encoding": "gzip", "transfer-encoding": "chunked" }),
        ...Array.from({ length: 64 }, () => chunk(member)),
        chunk(""),
      ],
      ending: "end",
    }),
  };
}

/** More comes than anybody needs. */
export const limitCases: readonly Case[] = [
  {
    name: "headers of 1 MiB",
    answer: succeed({ headers: { "x-large": "x".repeat(MIB) } }),
    expected: failure(
      ProtocolError,
      Code.ResourceExhausted,
      "the response has more headers than this client accepts: 1000, of 65535 bytes together",
    ),
    over: onlyHttp1,
  },
  {
    name: "headers of 1 MiB over HTTP/2",
    answer: succeed({ headers: { "x-large": "x".repeat(MIB) } }),
    expected: (operation) => (streams(operation) ? nothingCame : timeUp),
    config: { timeouts: { callMs: 300, idleMs: 300 } },
    over: {
      ways: ["grpc"],
      because: "Node's HTTP/2 client says nothing of headers that it refuses: a time limit ends the call",
    },
  },
  {
    name: "a message over the limit",
    answer: succeed(),
    expected: tooLarge,
    config: small,
    of: (operation) => !streams(operation),
  },
  {
    name: "a chunk over the limit",
    answer: succeed(),
    expected: tooLarge,
    config: small,
    of: streams,
    over: noRawBody,
  },
  {
    name: "a listing that does not end",
    answer: endlessMessage(),
    expected: tooLarge,
    config: { limits: { maxMessageBytes: MIB, maxJsonBytes: MIB } },
    of: (operation) => !streams(operation),
  },
  {
    name: "a gzip bomb",
    answer: gzipBomb(),
    expected: tooLarge,
    config: { limits: { maxJsonBytes: 2 * MIB, maxMessageBytes: 2 * MIB } },
    of: (operation) => !streams(operation),
    surround: () => {
      const before = process.memoryUsage().rss;
      return {
        check() {
          const grown = process.memoryUsage().rss - before;
          if (grown > 256 * MIB) {
            throw new Error(`memory has grown by ${grown} bytes`);
          }
        },
      };
    },
  },
];
