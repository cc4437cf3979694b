import { Code } from "@connectrpc/connect";
import { CanceledError, ConnectionError, ProtocolError } from "tradewire";
import { cut, frames, grpcHeaders, type NodeAnswer, stall, succeed } from "./answers.js";
import { type Case, type Failure, failure } from "./case.js";
import { archive, chunksOf, type Operation, streams } from "./operations.js";

const lost = failure(ConnectionError, Code.Unavailable, "the connection was lost");
const timeUp = failure(ConnectionError, Code.DeadlineExceeded, "the deadline of the call passed");
const nothingCame = failure(ConnectionError, Code.DeadlineExceeded, "no data received for 200 ms (idle timeout)");
const limitOf = (operation: Operation): Failure => (streams(operation) ? nothingCame : timeUp);
const canceled = failure(CanceledError, Code.Canceled, "the call was canceled");
const quick = { timeouts: { callMs: 200, idleMs: 200 } };
const dataLoss = (summary: string) => failure(ProtocolError, Code.DataLoss, summary);

function exporting(name: string, bytes: Uint8Array, expected: Failure): Case {
  return { name, answer: succeed({ messages: () => chunksOf(bytes) }), expected, of: streams };
}

/** GOAWAY, or `connection: close`, while an answer is under way. */
function saysGoodbye(): NodeAnswer {
  const { rest } = succeed({ headers: { connection: "close" } });
  return {
    rest,
    grpc: (asked) => ({
      headers: grpcHeaders(asked),
      pieces: frames(asked),
      goaway: true,
      ending: { "grpc-status": "0" },
    }),
  };
}

/** An answer comes to its end, or does not. */
export const streamCases: readonly Case[] = [
  { name: "success", answer: succeed(), expected: "success" },
  {
    name: "success, in many small chunks",
    answer: succeed({
      messages: ({ messages, method }) => (method.name === "ExportNetworkHistory" ? chunksOf(archive, 97) : messages),
    }),
    expected: "success",
  },
  { name: "the node says goodbye in the middle and goes on", answer: saysGoodbye(), expected: "success" },
  { name: "the connection is cut before the answer's first message", answer: cut("none"), expected: lost },
  { name: "the connection is cut in the middle", answer: cut("some"), expected: lost },
  { name: "the connection is cut after a whole answer", answer: cut("all"), expected: lost },
  { name: "the answer stops before its first message", answer: stall("none"), expected: limitOf, config: quick },
  { name: "the answer stops in the middle", answer: stall("some"), expected: limitOf, config: quick },
  { name: "the answer stops before its end", answer: stall("all"), expected: limitOf, config: quick },
  exporting(
    "the archive is truncated, the end is clean",
    archive.subarray(0, 21_000),
    dataLoss("the archive is truncated: the stream ended after 21000 bytes"),
  ),
  exporting(
    "something follows the archive",
    Buffer.concat([archive, Buffer.from("and more")]),
    dataLoss('8 bytes follow the archive\'s end: "and more"'),
  ),
  exporting(
    "the body is no archive",
    Buffer.from("a,b\n1,2\n"),
    dataLoss('the response is not a ZIP archive; it starts with "a,b\\n1,2\\n"'),
  ),
  {
    name: "the first chunk has no extensions",
    answer: succeed({ messages: () => chunksOf(archive).map((chunk) => ({ ...chunk, extensions: [] })) }),
    expected: dataLoss("the first chunk has no extensions"),
    of: streams,
    over: { ways: ["grpc", "envelopes"], because: "a raw body has no chunks that could carry extensions" },
  },
  {
    name: "an export without a chunk",
    answer: succeed({ part: "none" }),
    expected: dataLoss("the stream of the export is empty"),
    of: streams,
  },
  {
    name: "the call is aborted before it begins",
    answer: succeed(),
    expected: canceled,
    abort: "before",
  },
  {
    name: "an export is aborted in the middle",
    answer: stall("some"),
    expected: canceled,
    abort: "at the first part",
    of: streams,
  },
  { name: "the caller's deadline passes", answer: stall("some"), expected: timeUp, abort: { afterMs: 150 } },
];
