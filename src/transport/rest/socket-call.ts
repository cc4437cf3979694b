import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import type { StreamRequest } from "@connectrpc/connect";
import type { HttpBinding } from "../../http-rule/http-rule.js";
import { knownTypes } from "../../json/any.js";
import { requestToJson } from "../../json/message.js";
import { arrivalOf } from "../arrival.js";
import { connectError } from "../bare-call.js";
import { errorFromResponse } from "./error.js";
import { type JsonReading, openResponse, type RestResponse, webHeaders } from "./response.js";
import type { MessageSocket, SocketClient } from "./socket.js";
import { responseMessages } from "./stream.js";

/** An open socket, whose frames are read as those of a response. */
export interface OpenSocket extends RestResponse {
  readonly socket: MessageSocket;
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
    throw await errorFromResponse(opened.statusCode ?? 0, openResponse(opened, arrived));
  }
  arrived();
  return { socket: opened, header: webHeaders(opened.opening), mediaType: "application/json", body: telling(opened) };

  async function* telling({ frames }: MessageSocket): AsyncGenerator<Uint8Array> {
    for await (const frame of frames) {
      arrived();
      yield frame;
    }
  }
}

/** A call over a socket. */
export interface SocketCall<I extends DescMessage, O extends DescMessage> {
  readonly method: DescMethod & { readonly input: I; readonly output: O };
  readonly rule: HttpBinding;
  readonly socket: OpenSocket;
  /** What is sent, as it comes. The call goes on behind its end, as a socket cannot say that nothing more is sent. */
  readonly requests: AsyncIterable<MessageShape<I>>;
  readonly reading: JsonReading;
}

/**
 * Send the requests of a call, and read its messages meanwhile. The socket is closed when they are no longer read.
 *
 * @param call the call
 * @returns the messages, each as soon as it is complete
 * @throws ConnectError for the node's error; for a socket that was closed, as the stream was lost; for what `requests` throw
 */
export async function* socketMessages<I extends DescMessage, O extends DescMessage>({
  method,
  rule,
  socket,
  requests,
  reading,
}: SocketCall<I, O>): AsyncGenerator<MessageShape<O>> {
  let failed: { readonly reason: unknown } | undefined;
  const sending = (async () => {
    for await (const request of requests) {
      await socket.socket.send(JSON.stringify(requestToJson(method.input, request, reading.registry ?? knownTypes)));
    }
  })().catch((reason: unknown) => {
    failed = { reason };
    socket.socket.close();
  });
  try {
    yield* responseMessages(method.output, rule, socket, { ...reading, streams: "envelopes" });
  } catch (reason) {
    throw failed === undefined ? reason : connectError(failed.reason);
  } finally {
    socket.socket.close();
    void sending;
  }
}
