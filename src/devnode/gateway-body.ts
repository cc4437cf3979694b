import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { create, type JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import type { HttpCall } from "../http-rule/http-rule.js";

/** The largest request that is read, over HTTP its body, in bytes. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Read the body of a request. Whether it is JSON depends on the method, so it is parsed when it is asked for.
 *
 * @param request the request
 * @returns the body as bytes of its content type, where it has one, and a getter of the JSON in it
 * @throws ConnectError where the body is too large; the getter throws one where the body is not JSON
 */
export async function readBody(request: IncomingMessage): Promise<Pick<HttpCall, "body" | "raw">> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size <= MAX_BODY_BYTES) {
      pieces.push(piece);
    }
  }
  // Reading goes on to the end: a client that is cut off while it sends may lose the answer.
  if (size > MAX_BODY_BYTES) {
    throw new ConnectError(`the body is larger than ${MAX_BODY_BYTES} bytes`, Code.ResourceExhausted);
  }
  const bytes = Buffer.concat(pieces);
  const contentType = request.headers["content-type"];
  return {
    ...((size > 0 || contentType !== undefined) && {
      raw: create(HttpBodySchema, { contentType: contentType ?? "", data: bytes }),
    }),
    get body() {
      return bytes.length === 0 ? undefined : parseBody(bytes);
    },
  };
}

function parseBody(bytes: Buffer): JsonValue {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw new ConnectError("the body is not valid JSON", Code.InvalidArgument);
  }
}

/**
 * Send a response, as fast as the client takes it, compressed where it accepts that.
 *
 * @param request the request that is answered
 * @param response the response
 * @param status the HTTP status
 * @param header the call's headers, of which the gateway passes on `content-disposition`
 * @param contentType the content type
 * @param body the body, in pieces
 */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  header: Headers,
  contentType: string | readonly string[],
  body: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
): Promise<void> {
  const disposition = header.get("content-disposition");
  if (disposition !== null) {
    response.setHeader("content-disposition", disposition);
  }
  if (!request.complete) {
    response.setHeader("connection", "close"); // The rest of the request is not read.
  }
  response.setHeader("content-type", contentType);
  response.appendHeader("vary", "accept-encoding");
  response.statusCode = status;
  if (acceptsGzip(String(request.headers["accept-encoding"] ?? ""))) {
    response.setHeader("content-encoding", "gzip");
    await pipeline(body, createGzip(), response);
  } else {
    await pipeline(body, response);
  }
}

function acceptsGzip(acceptEncoding: string): boolean {
  return acceptEncoding.split(",").some((coding) => /^\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$)|$)/i.test(coding));
}
