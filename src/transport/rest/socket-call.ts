import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import type { StreamRequest } from "@connectrpc/connect";
import { brokenAnswer, NO_SOCKET } from "../../errors/broken-answer.js";
import { RequestError } from "../../errors/index.js";
import type { HttpBinding } from "../../http-rule/http-rule.js";
import { fillPath } from "../../http-rule/path-template.js";
import { writeRequest } from "../../http-rule/write-call.js";
import { knownTypes } from "../../json/any.js";
import { openEnvelope } from "../../json/envelope.js";
import { messageFromJson } from "../../json/message.js";
import { sizeOf } from "../../json/message-size.js";
import { jsonObject } from "../../json/stream.js";
import { arrivalOf } from "../arrival.js";
import { connectError } from "../bare-call.js";
import { errorFromObject, errorFromResponse } from "./error.js";
import type { MessageSocket } from "./message-socket.js";
import { inField, type JsonReading, openResponse, webHeaders } from "./response.js";
import type { SocketClient } from "./socket.js";

/** A socket for a call. */
export interface OpenSocket extends MessageSocket {
  /** The header of the answer that opened it. */
  readonly header: Headers;
  /** Told of each frame. */
  readonly arrived: () => void;
}

/**
 * Write where a call of a method whose requests stream goes.
 *
 * @param rule the way to call the method
 * @returns the path; a verb other than GET, which opens sockets, is asked for as grpc-websocket-proxy has it
 * @throws {@link RequestError} where the path holds fields of the request
 */
export function socketTarget({ template, verb }: HttpBinding): string {
  if (template.variables.length > 0) {
    throw new RequestError(`the path ${template.text} holds fields of the request, but there may be many requests`, {
      advice: "Call this method over gRPC.",
    });
  }
  return `${fillPath(template, [])}${verb === "GET" ? "" : `?method=${encodeURIComponent(verb)}`}`;
}

/**
 * Open a socket for a call.
 *
 * @param sockets opens it
 * @param target path and query string, percent-encoded
 * @param request the call
 * @returns the socket
 * @throws the error of an answer that is none of a socket
 */
export async function openSocket(
  sockets: SocketClient,
  target: string,
  { header, signal, contextValues }: Pick<StreamRequest, "header" | "signal" | "contextValues">,
): Promise<OpenSocket> {
  const arrived = arrivalOf(contextValues);
  const opened = await sockets.open(target, header, signal);
  if (!("frames" in opened)) {
    const { statusCode = 0 } = opened;
    if (statusCode < 300) {
      opened.destroy();
      throw brokenAnswer(NO_SOCKET, `: HTTP ${statusCode}`);
    }
    const response = openResponse(opened, arrived);
    throw await errorFromResponse(statusCode, { ...response, body: whatComes(response.body) });
  }
  arrived();
  return { ...opened, header: webHeaders(opened.opening), arrived };
}

/** What comes of a body, which may be cut: the status tells enough. */
async function* whatComes(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {}
}

/** A call over a socket. */
export interface SocketCall<I extends DescMessage, O extends DescMessage> {
  readonly method: DescMethod & { readonly input: I; readonly output: O };
  readonly rule: HttpBinding;
  readonly socket: OpenSocket;
  /** What is sent, as it comes. The call goes on behind its end, as a socket cannot say that nothing more is sent. */
  readonly requests: AsyncIterable<MessageShape<I>>;
  readonly reading: Pick<JsonReading, "registry">;
}

/**
 * Send the requests of a call, and read its messages meanwhile. The socket is closed when they are no longer read.
 *
 * @param call the call
 * @returns the messages, each as soon as it is complete
 * @throws ConnectError for the node's error; for a socket that was closed, as the stream was lost; for what `requests` throw
 */
export async function* socketMessages<I extends DescMessage, O extends DescMessage>(
  call: SocketCall<I, O>,
): AsyncGenerator<MessageShape<O>> {
  const { method, rule, socket, reading } = call;
  let failed: { readonly reason: unknown } | undefined;
  sendRequests(call).catch((reason: unknown) => {
    failed = { reason };
    socket.close();
  });
  try {
    for await (const frame of socket.frames) {
      socket.arrived();
      const json = jsonObject(frame);
      const { result, error } = openEnvelope(json);
      if (error !== undefined) {
        throw errorFromObject(error, socket.header);
      }
      yield messageFromJson(method.output, inField(rule, result), reading.registry, sizeOf(json));
    }
  } catch (reason) {
    throw connectError(failed === undefined ? reason : failed.reason);
  } finally {
    socket.close();
  }
}

async function sendRequests<I extends DescMessage, O extends DescMessage>({
  method: { input },
  socket,
  requests,
  reading: { registry = knownTypes },
}: SocketCall<I, O>): Promise<void> {
  for await (const request of requests) {
    if (!(await socket.send(JSON.stringify(writeRequest(input, request, registry))))) {
      return; // The frames tell why.
    }
  }
}
