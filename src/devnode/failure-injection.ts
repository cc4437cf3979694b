import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  isMessage,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import * as z from "zod";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { closestName, quoted } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";
import { integer, optionsSchema, parseInput } from "../input/schemas.js";
import { startImmediate } from "../runtime/index.js";

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

  function take(method: string): BlockEvent | undefined {
    const next = planned.find(({ failure }) => failure.methods.includes(method));
    if (next !== undefined) {
      next.left -= 1;
      if (next.left === 0) {
        planned.splice(planned.indexOf(next), 1);
      }
    }
    return next?.failure.blockEvent;
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

/** How a call is to fail. */
export interface Failure {
  /**
   * The method's name, such as `ExportNetworkHistory`, behind its service's and a slash, or alone: then the methods of
   * that name of all services are meant.
   */
  readonly method: string;
  /** How many calls are to fail; 1 by default. */
  readonly times?: number | undefined;
  /**
   * What happens: an error of a code (`UNAVAILABLE`, or its number); the connection is cut (`cut`) or falls silent
   * (`stall`); or an export comes whole, and an error behind it (`error-after-archive`).
   */
  readonly with: string | number;
  /**
   * After how many bytes of the answer; 0 by default, before anything is sent. For an error they are bytes of what is
   * exported, so that only exports take them; for `cut` and `stall` bytes of the wire. An answer of fewer bytes fails at
   * its end.
   */
  readonly afterBytes?: number | undefined;
}

/** What happens to a call that fails. */
export type BlockEvent =
  | { readonly kind: "code"; readonly code: Code; readonly afterBytes: number }
  | { readonly kind: "cut" | "stall"; readonly afterBytes: number };

/** A failure that was checked. */
export interface PlannedFailure {
  /** The full names of the methods that it is for. */
  readonly methods: readonly string[];
  readonly times: number;
  readonly blockEvent: BlockEvent;
}

/**
 * How a failure that the node is asked for looks.
 *
 * @internal
 */
export const failureSchema = optionsSchema(
  {
    method: z.string("Give its name as the definitions have it, such as ExportNetworkHistory."),
    times: integer(1, Number.MAX_SAFE_INTEGER, "Give a whole number from 1 on.").optional(),
    with: z.union([z.string(), z.number()], "Give cut, stall, error-after-archive or a code, such as UNAVAILABLE."),
    afterBytes: integer(0, Number.MAX_SAFE_INTEGER, "Give a whole number of bytes from 0 on.").optional(),
  } satisfies Record<keyof Failure, unknown>,
  'Give an object such as { method: "ExportNetworkHistory", with: "cut" }.',
);

/**
 * Check how calls are to fail.
 *
 * @param services those whose methods can be made to fail
 * @param given the failure
 * @returns the failure, with its methods
 * @throws {@link RequestError} where it has no form, names what there is not, or could have no effect
 */
export function planFailure(services: readonly DescService[], given: Failure): PlannedFailure {
  const { method: name, times = 1, with: what, afterBytes } = parseInput(failureSchema, given, "failNext");
  const all = services.flatMap(({ methods }) => methods);
  const methods = all.filter((method) => method.name === name || methodName(method) === name);
  if (methods.length === 0) {
    const near = closestName(name, name.includes("/") ? all.map(methodName) : all.map((method) => method.name));
    throw new RequestError(`there is no method ${quoted(name)}`, {
      advice: `Give its name as the definitions have it, such as ${near ?? "ExportNetworkHistory"}.`,
    });
  }
  const blockEvent = happeningOf(what, afterBytes);
  if (blockEvent.kind === "code" && blockEvent.afterBytes > 0 && !methods.every(isExport)) {
    const exports = all.filter(isExport).map((method) => method.name);
    throw new RequestError((nameOf) => `${name} exports nothing, so that ${lateness(what, nameOf("afterBytes"))}`, {
      advice: (nameOf) =>
        `Give a code without ${nameOf("afterBytes")}, or cut or stall; or choose ${exports.join(" or ")}.`,
    });
  }
  return { methods: methods.map(methodName), times, blockEvent };
}

/**
 * Name a method in full.
 *
 * @param method the method
 * @returns the name, such as `datanode.api.v2.TradingDataService/Info`
 */
export function methodName({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

/** Whether a method streams the bytes of a file, which errors can stand in and behind. */
function isExport({ methodKind, output }: DescMethod): boolean {
  return methodKind === "server_streaming" && output.typeName === HttpBodySchema.typeName;
}

function happeningOf(what: string | number, afterBytes: number | undefined): BlockEvent {
  if (what === "cut" || what === "stall") {
    return { kind: what, afterBytes: afterBytes ?? 0 };
  }
  if (what === AFTER_ALL) {
    if (afterBytes !== undefined) {
      throw new RequestError((nameOf) => `${AFTER_ALL} comes behind all bytes, and takes no ${nameOf("afterBytes")}`, {
        advice: (nameOf) =>
          `Leave ${nameOf("afterBytes")} out, or give a code, such as INTERNAL, to fail after so many.`,
      });
    }
    return { kind: "code", code: Code.Internal, afterBytes: Number.POSITIVE_INFINITY };
  }
  const code = codes.get(String(what).toUpperCase());
  if (code === undefined) {
    throw new RequestError(`a call cannot fail with ${quoted(String(what))}`, {
      advice: `Give cut, stall, ${AFTER_ALL} or a code: ${[...codes.keys()].filter((name) => Number.isNaN(Number(name))).join(", ")}.`,
    });
  }
  return { kind: "code", code, afterBytes: afterBytes ?? 0 };
}

const AFTER_ALL = "error-after-archive";

const lateness = (what: string | number, afterBytes: string) =>
  what === AFTER_ALL ? "no error can come behind its archive" : `${afterBytes} has no bytes to count`;

/** Codes by their names, as the specification writes them, and by their numbers. */
const codes = new Map(
  Object.entries(Code).flatMap(([name, code]) =>
    typeof code === "number"
      ? [
          [String(code), code] as const,
          [name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase(), code] as const,
        ]
      : [],
  ),
);
