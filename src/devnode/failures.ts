import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";
import { create, type DescMessage, type DescService, isMessage, type MessageShape } from "@bufbuild/protobuf";
import { type Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { startImmediate } from "../runtime/index.js";
import { type Failure, type Happening, methodName, type PlannedFailure, planFailure } from "./failure.js";

/** What makes calls fail. */
export interface Failures {
  /** Make the next calls of a method fail. What was asked for before comes first. */
  failNext(given: Failure): void;
  /** An interceptor of a server. */
  readonly interceptor: Interceptor;
  /** Make a listener of an HTTP server whose connections can be cut. */
  breakable<Q extends IncomingMessage | Http2ServerRequest, S extends ServerResponse | Http2ServerResponse>(
    listener: (request: Q, response: S) => void,
  ): (request: Q, response: S) => void;
  /** Make a connection that is no longer HTTP, and can be cut. The call of `serve` tells what is called over it. */
  breakableSocket(connection: Socket, serve: () => void): void;
}

/** The answer that a call is written to. */
interface Answer {
  breakOff(kind: "cut" | "stall", afterBytes: number): void;
}

/**
 * The answer that the code under way writes to. There is one storage for all nodes of a process: Node copies the value of each
 * storage that was ever used to each promise.
 */
const answers = new AsyncLocalStorage<Answer>();

/**
 * Make what lets calls fail, to rehearse what networks and nodes do.
 *
 * @param services those whose methods can be made to fail
 * @returns the parts for both servers
 */
export function createFailures(services: readonly DescService[]): Failures {
  const planned: { readonly failure: PlannedFailure; left: number }[] = [];

  function take(method: string): Happening | undefined {
    const next = planned.find(({ failure }) => failure.methods.includes(method));
    if (next !== undefined) {
      next.left -= 1;
      if (next.left === 0) {
        planned.splice(planned.indexOf(next), 1);
      }
    }
    return next?.failure.happening;
  }

  return {
    failNext(given) {
      const failure = planFailure(services, given);
      planned.push({ failure, left: failure.times });
    },

    interceptor: (next) => async (request) => {
      const failure = take(methodName(request.method));
      if (failure === undefined) {
        return next(request);
      }
      if (failure.kind !== "code") {
        answers.getStore()?.breakOff(failure.kind, failure.afterBytes);
        return next(request);
      }
      if (failure.afterBytes === 0) {
        throw rehearsed(failure.code);
      }
      const response = await next(request);
      return response.stream ? { ...response, message: failing(response.message, failure) } : response;
    },

    breakable: (listener) => (request, response) => {
      const cut = () => ("stream" in response ? response.stream.session : response.socket)?.destroy();
      answers.run({ breakOff: (kind, afterBytes) => breakOff(response, kind, afterBytes, cut) }, () =>
        listener(request, response),
      );
    },

    breakableSocket(connection, serve) {
      const cut = () => connection.destroy();
      answers.run({ breakOff: (kind, afterBytes) => breakOff(connection, kind, afterBytes, cut) }, serve);
    },
  };
}

const rehearsed = (code: Code) => new ConnectError("this failure was asked for", code);

/** Pass messages on until so many bytes of their bodies have gone, and fail. */
async function* failing(
  messages: AsyncIterable<MessageShape<DescMessage>>,
  { code, afterBytes }: { readonly code: Code; readonly afterBytes: number },
): AsyncGenerator<MessageShape<DescMessage>> {
  let left = afterBytes;
  for await (const message of messages) {
    if (isMessage(message, HttpBodySchema)) {
      if (message.data.length > left) {
        yield create(HttpBodySchema, { ...message, data: message.data.subarray(0, left) });
        throw rehearsed(code);
      }
      left -= message.data.length;
    }
    yield message;
  }
  throw rehearsed(code);
}

/** As Node reports it: the handlers of calls take this for a client that has left, and say nothing. */
function connectionLost(): Error {
  return Object.assign(new Error("the connection was lost"), { code: "ECONNRESET" });
}

/** Let an answer end after so many bytes of it: its connection is cut, or nothing more comes. */
function breakOff(
  response: ServerResponse | Http2ServerResponse | Socket,
  kind: "cut" | "stall",
  afterBytes: number,
  cut: () => void,
): void {
  let left = afterBytes;
  const stop = () => {
    if (kind === "cut") {
      cut();
    }
  };
  // Node's two kinds of answers, and its sockets, write alike, by the same two functions.
  const writable: { write: unknown; end: unknown } = response;
  const write = response.write.bind(response) as (bytes: Uint8Array, done?: () => void) => boolean;
  /** Pieces that are on their way to the socket. The cut at the answer's end comes behind them. */
  let unsent = 0;
  let isAtEnd = false;
  const sent = () => {
    unsent -= 1;
    if (isAtEnd && unsent === 0) {
      stop();
    }
  };
  const stream = "stream" in response ? response.stream : response;
  /** What is not written fails when the connection is gone: who waits for it would wait for ever. */
  const swallow = (done: unknown) => {
    const fail = () => typeof done === "function" && done(connectionLost());
    if (stream.destroyed) {
      startImmediate(fail);
    } else {
      stream.once("close", fail);
    }
    return false;
  };
  const pass = (piece: unknown, done: unknown) => {
    const tell = typeof done === "function" ? () => done() : () => {};
    const bytes = typeof piece === "string" || piece instanceof Uint8Array ? Buffer.from(piece) : Buffer.alloc(0);
    if (bytes.length === 0) {
      tell();
      return true;
    }
    if (bytes.length <= left) {
      left -= bytes.length;
      unsent += 1;
      return write(bytes, () => {
        tell();
        sent();
      });
    }
    write(bytes.subarray(0, left), stop);
    left = -1;
    return swallow(done);
  };
  writable.write = (piece: unknown, ...rest: readonly unknown[]) =>
    left >= 0 ? pass(piece, rest.at(-1)) : swallow(rest.at(-1));
  writable.end = (piece: unknown) => {
    if (left >= 0) {
      pass(piece, undefined);
      isAtEnd = true;
      if (unsent === 0) {
        stop();
      }
    }
    return response;
  };
  if (afterBytes === 0) {
    left = -1;
    stop();
  }
}
