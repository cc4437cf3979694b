import type { OutgoingHttpHeaders } from "node:http2";
import { type DescMessage, isMessage, type Message, type MessageShape, toBinary, toJson } from "@bufbuild/protobuf";
import type { ErrorObject } from "tradewire";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { anyFromObject, knownTypes } from "../support/any.js";
import { failureTrailers, frame, type GrpcAnswer } from "../support/grpc-server.js";
import { httpStatusOf } from "../support/http-status.js";
import { chunk, head, type RawAnswer, whole } from "../support/raw-http.js";
import { DISPOSITION, type Operation, streams } from "./operations.js";

/** A call as it reached the node. */
export interface Asked {
  readonly operation: Operation;
  /** How often this operation has been asked for over this way, from 1. */
  readonly attempt: number;
  /** Whether messages are JSON: gRPC's codec. */
  readonly json: boolean;
  /** Whether a stream comes in envelopes: the gateway's choice. */
  readonly envelopes: boolean;
}

/** What a node answers, however it is asked. */
export interface NodeAnswer {
  readonly grpc: (asked: Asked) => GrpcAnswer;
  readonly rest: (asked: Asked) => RawAnswer;
}

/** How much of an answer's messages comes: of one that does not stream, half of its only message is "some". */
export type Part = "none" | "some" | "all";

/** What can be different about an answer with messages. */
interface Messages {
  readonly part?: Part;
  /** The messages, where they are not the operation's own. */
  readonly messages?: (operation: Operation) => readonly Message[];
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

const JSON_TYPE = { "content-type": "application/json" };
const OK = { "grpc-status": "0" };

/** The headers of gRPC's answer. */
export function grpcHeaders({ json }: Asked): OutgoingHttpHeaders {
  return { "content-type": `application/grpc+${json ? "json" : "proto"}`, "content-disposition": DISPOSITION };
}

function jsonOf(desc: DescMessage, message: MessageShape<DescMessage>) {
  return JSON.stringify(toJson(desc, message, { registry: knownTypes, alwaysEmitImplicit: true }));
}

function takePart(pieces: readonly Buffer[], part: Part): Buffer[] {
  const [only] = pieces;
  if (part === "some" && pieces.length === 1 && only !== undefined) {
    return [only.subarray(0, only.length / 2)];
  }
  return part === "all" ? [...pieces] : pieces.slice(0, part === "some" ? 3 : 0);
}

/** The messages as gRPC's frames. */
export function frames({ operation, json }: Asked, { part = "all", messages }: Messages = {}): Buffer[] {
  const { output } = operation.method;
  const all = messages?.(operation) ?? operation.messages;
  return takePart(
    all.map((message) => frame(json ? Buffer.from(jsonOf(output, message)) : toBinary(output, message))),
    part,
  );
}

/** The messages as pieces of an HTTP body. */
export function pieces({ operation, envelopes }: Asked, { part = "all", messages }: Messages = {}): Buffer[] {
  const { output } = operation.method;
  const all = messages?.(operation) ?? operation.messages;
  const text = (message: Message) => jsonOf(output, message);
  return takePart(
    all.map((message) => {
      if (!streams(operation)) {
        return Buffer.from(text(message));
      }
      return envelopes || !isMessage(message, HttpBodySchema)
        ? Buffer.from(`{"result":${text(message)}}\n`)
        : Buffer.from(message.data);
    }),
    part,
  );
}

/** The headers of the gateway's answer. */
export function restHeaders({ operation, envelopes }: Asked): Record<string, string> {
  const json = !streams(operation) || envelopes || operation.method.output.typeName !== HttpBodySchema.typeName;
  return { ...(json ? JSON_TYPE : { "content-type": "application/zip" }), "content-disposition": DISPOSITION };
}

function chunked(asked: Asked, headers: Readonly<Record<string, string>> = {}): string {
  return head("200 OK", { ...restHeaders(asked), "transfer-encoding": "chunked", ...headers });
}

/** A success: all messages, or some, and a clean end. */
export function succeed(given: Messages = {}): NodeAnswer {
  return {
    grpc: (asked) => ({
      headers: { ...grpcHeaders(asked), ...given.headers },
      pieces: frames(asked, given),
      ending: OK,
    }),
    rest: (asked) => ({
      pieces: [chunked(asked, given.headers), ...pieces(asked, given).map(chunk), chunk("")],
      ending: "end",
    }),
  };
}

/** The node's error, before, between or after the messages. */
export function fail(error: ErrorObject, given: Messages & { readonly part: Part } = { part: "none" }): NodeAnswer {
  const { code, message, details } = error;
  const status = { code, message, details: details.map(anyFromObject) };
  return {
    grpc: (asked) => ({
      headers: grpcHeaders(asked),
      pieces: frames(asked, given),
      // A server without a message or details leaves the fields out.
      ending: message === "" && details.length === 0 ? { "grpc-status": String(code) } : failureTrailers(status),
    }),
    rest: (asked) => {
      const object = JSON.stringify(streams(asked.operation) ? { error } : error);
      return given.part === "none"
        ? whole(`${httpStatusOf(code)} Failed`, object, JSON_TYPE)
        : { pieces: [chunked(asked), ...pieces(asked, given).map(chunk), chunk(object), chunk("")], ending: "end" };
    },
  };
}

/** The connection breaks off after a part of the messages. */
export function cut(part: Part): NodeAnswer {
  return {
    grpc: (asked) => ({ headers: grpcHeaders(asked), pieces: frames(asked, { part }), ending: "destroy" }),
    rest: (asked) => ({ pieces: [chunked(asked), ...pieces(asked, { part }).map(chunk)], ending: "reset" }),
  };
}

/** Nothing more comes after a part of the messages. */
export function stall(part: Part): NodeAnswer {
  return {
    grpc: (asked) => ({ headers: grpcHeaders(asked), pieces: frames(asked, { part }), ending: "keep" }),
    rest: (asked) => ({ pieces: [chunked(asked), ...pieces(asked, { part }).map(chunk)], ending: "keep" }),
  };
}

/** Something else than a node answers. */
export function page(status: string, body: string, headers: Readonly<Record<string, string>> = {}): NodeAnswer {
  const all = { "content-type": "text/html", ...headers };
  return {
    grpc: () => ({
      headers: { ":status": Number.parseInt(status, 10), ...all },
      pieces: body === "" ? [] : [Buffer.from(body)],
      ending: "end",
    }),
    rest: () => whole(status, body, all),
  };
}
