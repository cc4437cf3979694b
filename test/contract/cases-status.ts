import { Code } from "@connectrpc/connect";
import { type ErrorObject, NodeError, type TypedObject } from "tradewire";
import { fail, grpcHeaders, type NodeAnswer, type Part } from "./answers.js";
import { type Case, type Failure, failure } from "./case.js";
import { streams } from "./operations.js";

const known = { "@type": "type.googleapis.com/vega.ErrorDetail", code: 20_002, message: "no such range", inner: "7" };
const knownReasons = ": no such range: 7";
const unknown = { "@type": "type.googleapis.com/vega.Unheard", value: "AQID/w==" };

/** The name of a code as gRPC's documents have it, such as NOT_FOUND. */
function codeName(code: Code): string {
  return code === Code.Canceled ? "CANCELLED" : Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

/** A message of a node, as a summary has it. */
function shortened(message: string): string {
  return message.length > 1000 ? `${message.slice(0, 1000)}…` : message;
}

function answered({ code, message, details }: ErrorObject, reasons = ""): Failure {
  const text = `${message === "" ? "" : `: ${shortened(message).replace(/\n+/g, " ")}`}${reasons}`;
  const said = text === "" ? ", without a message" : text;
  return failure(NodeError, code, `the node answered ${codeName(code)}${said}`, details);
}

function statusCase(name: string, error: ErrorObject, reasons?: string): Case {
  return { name, answer: fail(error), expected: answered(error, reasons) };
}

const codes = Object.values(Code).filter((code) => typeof code === "number");
const object = (code: Code, message: string, details: readonly TypedObject[] = []) => ({ code, message, details });
const failed = object(Code.Internal, "segment 3 cannot be read", [known]);

/** The node answers with an error. */
export const statusCases: readonly Case[] = [
  ...codes.map((code) => statusCase(`the node answers ${codeName(code)}`, object(code, `it is ${code}`))),
  ...codes.map((code) =>
    statusCase(
      `the node answers ${codeName(code)} with details`,
      object(code, "see the details", [known, unknown]),
      knownReasons,
    ),
  ),
  statusCase("an error without a message", object(Code.NotFound, "")),
  statusCase("an error without a message, with details", object(Code.NotFound, "", [known]), knownReasons),
  statusCase("an error with a message in many scripts", object(Code.Aborted, "naïve «№ 5» 日本 🙂 50% a+b%20c")),
  statusCase("an error with a message of several lines", object(Code.OutOfRange, "first\nsecond\n\nthird")),
  statusCase("an error with a long message", object(Code.Unknown, "long ".repeat(1000).trim())),
  statusCase("an error with a detail of an unknown type", object(Code.Internal, "odd", [unknown])),
  ...(["some", "all"] as const).map(
    (part: Part): Case => ({
      name: `an error after ${part === "all" ? "a whole archive" : "some chunks"}`,
      answer: fail(failed, { part }),
      expected: answered(failed, knownReasons),
      of: streams,
    }),
  ),
  {
    name: "an error in the trailers of an answer that is whole",
    answer: { ...fail(failed, { part: "all" }), rest: fail(failed).rest },
    expected: answered(failed, knownReasons),
    of: (operation) => !streams(operation),
  },
  {
    name: "a status that is no number of gRPC's",
    answer: oddStatus("77"),
    expected: failure(NodeError, Code.Unknown, "the node answered UNKNOWN: odd"),
  },
  {
    name: "an error whose details cannot be read",
    answer: withBrokenDetails(),
    expected: failure(NodeError, Code.NotFound, "the node answered NOT_FOUND: gone"),
    over: { ways: ["grpc"], because: "details are binary in gRPC alone" },
  },
];

function oddStatus(code: string): NodeAnswer {
  return {
    grpc: (asked) => ({ headers: grpcHeaders(asked), ending: { "grpc-status": code, "grpc-message": "odd" } }),
    rest: (asked) => fail({ code: Number(code) as Code, message: "odd", details: [] }).rest(asked),
  };
}

function withBrokenDetails(): NodeAnswer {
  const { rest } = fail(failed);
  return {
    rest,
    grpc: (asked) => ({
      headers: grpcHeaders(asked),
      ending: { "grpc-status": "5", "grpc-message": "gone", "grpc-status-details-bin": "CP__/w" },
    }),
  };
}
