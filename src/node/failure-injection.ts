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
import { ConnectError, type Interceptor } from "@connectrpc/connect";
import * as v from "valibot";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { Code } from "../base/errors/code.js";
import { closestName, type OptionNames, quoted } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import { isBytes } from "../base/input/assert.js";
import { integer, optionsSchema, parseInput } from "../base/input/schemas.js";
import { startImmediate } from "../base/runtime/index.js";

/** Makes calls of the node's servers fail. */
export interface FailureInjector {
  /** Makes the next calls of a method fail. Failures of the same method occur in the order in which they were planned. */
  failNext(failure: Failure): void;
  /** The interceptor of the gRPC server, and of the router behind the gateway. */
  readonly interceptor: Interceptor;
  /** Wraps a listener of an HTTP server, so that failures can interrupt the responses it writes. */
  wrapListener<Q extends IncomingMessage | Http2ServerRequest, S extends ServerResponse | Http2ServerResponse>(
    listener: (request: Q, response: S) => void,
  ): (request: Q, response: S) => void;
  /** Runs `serve`, so that failures of the calls it starts can interrupt the connection, such as a WebSocket's. */
  wrapSocket(connection: Socket, serve: () => void): void;
}

/** The response of a call, which a failure can interrupt. */
interface ResponseControl {
  interrupt(kind: "cut" | "stall", afterBytes: number): void;
}

/**
 * The response of the current asynchronous context. All nodes of a process share one storage: Node copies the value of each
 * storage that was ever used to each promise.
 */
const currentResponse = new AsyncLocalStorage<ResponseControl>();

/** Creates an injector of failures, to simulate failures of networks and nodes. */
export function createFailureInjector(services: readonly DescService[]): FailureInjector {
  const planned: { readonly failure: PlannedFailure; remaining: number }[] = [];

  function nextEffect(method: string): FailureEffect | undefined {
    const next = planned.find(({ failure }) => failure.methods.includes(method));
    if (next !== undefined) {
      next.remaining -= 1;
      if (next.remaining === 0) {
        planned.splice(planned.indexOf(next), 1);
      }
    }
    return next?.failure.effect;
  }

  return {
    failNext(input) {
      const failure = planFailure(services, input);
      planned.push({ failure, remaining: failure.times });
    },

    interceptor: (next) => async (request) => {
      const effect = nextEffect(methodName(request.method));
      if (effect === undefined) {
        return next(request);
      }
      if (effect.kind !== "code") {
        currentResponse.getStore()?.interrupt(effect.kind, effect.afterBytes);
        return next(request);
      }
      if (effect.afterBytes === 0) {
        throw injectedError(effect.code);
      }
      const response = await next(request);
      return response.stream ? { ...response, message: failAfterBytes(response.message, effect) } : response;
    },

    wrapListener: (listener) => (request, response) => {
      const cut = () => ("stream" in response ? response.stream.session : response.socket)?.destroy();
      const interrupt = (kind: "cut" | "stall", afterBytes: number) =>
        interruptResponse(response, kind, afterBytes, cut);
      currentResponse.run({ interrupt }, () => listener(request, response));
    },

    wrapSocket(connection, serve) {
      const cut = () => connection.destroy();
      const interrupt = (kind: "cut" | "stall", afterBytes: number) =>
        interruptResponse(connection, kind, afterBytes, cut);
      currentResponse.run({ interrupt }, serve);
    },
  };
}

const injectedError = (code: Code) => new ConnectError("injected by failNext", code);

/** Yields messages until their bodies have this number of bytes, then throws. */
async function* failAfterBytes(
  messages: AsyncIterable<MessageShape<DescMessage>>,
  { code, afterBytes }: { readonly code: Code; readonly afterBytes: number },
): AsyncGenerator<MessageShape<DescMessage>> {
  let remaining = afterBytes;
  for await (const message of messages) {
    if (isMessage(message, HttpBodySchema)) {
      if (message.data.length > remaining) {
        yield create(HttpBodySchema, { ...message, data: message.data.subarray(0, remaining) });
        throw injectedError(code);
      }
      remaining -= message.data.length;
    }
    yield message;
  }
  throw injectedError(code);
}

/** Creates the error that Node reports for a lost connection: request handlers ignore it, as the client is gone. */
function connectionLost(): Error {
  return Object.assign(new Error("the connection was lost"), { code: "ECONNRESET" });
}

/** Interrupts a response after a number of bytes: cuts its connection, or stops sending. */
function interruptResponse(
  response: ServerResponse | Http2ServerResponse | Socket,
  kind: "cut" | "stall",
  afterBytes: number,
  cut: () => void,
): void {
  /** The number of bytes to send before the interruption; -1 after it. */
  let remaining = afterBytes;
  const stop = () => {
    if (kind === "cut") {
      cut();
    }
  };
  // Responses of HTTP/1.1 and HTTP/2 and sockets are all written with the same two methods.
  const writable: { write: unknown; end: unknown } = response;
  const write = response.write.bind(response) as (bytes: Uint8Array, done?: () => void) => boolean;
  /** The number of chunks that the socket has not accepted yet. At the end of the response, they are sent before the cut. */
  let unsent = 0;
  let isAtEnd = false;
  const onSent = () => {
    unsent -= 1;
    if (isAtEnd && unsent === 0) {
      stop();
    }
  };
  const stream = "stream" in response ? response.stream : response;
  /** Discards a chunk. Its callback gets an error when the connection is closed; otherwise its caller would wait forever. */
  const discard = (done: unknown) => {
    const fail = () => typeof done === "function" && done(connectionLost());
    if (stream.destroyed) {
      startImmediate(fail);
    } else {
      stream.once("close", fail);
    }
    return false;
  };
  const pass = (chunk: unknown, done: unknown) => {
    const onDone = typeof done === "function" ? () => done() : () => {};
    const bytes = typeof chunk === "string" || isBytes(chunk) ? Buffer.from(chunk) : Buffer.alloc(0);
    if (bytes.length === 0) {
      onDone();
      return true;
    }
    if (bytes.length <= remaining) {
      remaining -= bytes.length;
      unsent += 1;
      return write(bytes, () => {
        onDone();
        onSent();
      });
    }
    write(bytes.subarray(0, remaining), stop);
    remaining = -1;
    return discard(done);
  };
  writable.write = (chunk: unknown, ...rest: readonly unknown[]) =>
    remaining >= 0 ? pass(chunk, rest.at(-1)) : discard(rest.at(-1));
  writable.end = (chunk: unknown) => {
    if (remaining >= 0) {
      pass(chunk, undefined);
      isAtEnd = true;
      if (unsent === 0) {
        stop();
      }
    }
    return response;
  };
  if (afterBytes === 0) {
    remaining = -1;
    stop();
  }
}

/** A failure of one or more calls of a method. */
export interface Failure {
  /**
   * The method's name, with or without its service: `datanode.api.v2.TradingDataService/Info`, or `Info` for the methods of
   * that name in all services.
   */
  readonly method: string;
  /** The number of calls that fail; 1 by default. */
  readonly times?: number | undefined;
  /**
   * How the calls fail: with an error of this code (`UNAVAILABLE`, or its number); because the connection is cut (`cut`) or
   * goes silent (`stall`); or with an error after a complete export (`error-after-archive`).
   */
  readonly with: string | number;
  /**
   * The number of bytes of the response before the failure. With 0, the default, nothing is sent. For an error code, which
   * allows this only for exports, the bytes of the exported file are counted; for `cut` and `stall`, the bytes on the wire.
   * A shorter response fails at its end.
   */
  readonly afterBytes?: number | undefined;
}

type FailureEffect =
  | { readonly kind: "code"; readonly code: Code; readonly afterBytes: number }
  | { readonly kind: "cut" | "stall"; readonly afterBytes: number };

interface PlannedFailure {
  /** The full names of the methods that fail. */
  readonly methods: readonly string[];
  readonly times: number;
  readonly effect: FailureEffect;
}

/**
 * The schema of {@link Failure}.
 *
 * @internal
 */
export const failureSchema = optionsSchema(
  {
    method: v.string("must be the name of a method, such as ExportNetworkHistory"),
    times: v.optional(integer(1, Number.MAX_SAFE_INTEGER, "must be a whole number of at least 1")),
    with: v.union([v.string(), v.number()], "must be cut, stall, error-after-archive or a code such as UNAVAILABLE"),
    afterBytes: v.optional(integer(0, Number.MAX_SAFE_INTEGER, "must be a whole number of bytes of at least 0")),
  } satisfies Record<keyof Failure, unknown>,
  'must be an object such as { method: "ExportNetworkHistory", with: "cut" }',
);

/**
 * Validates a failure, and resolves its methods.
 *
 * @throws {@link RequestError} if the failure is invalid, its method does not exist, or it could have no effect
 */
function planFailure(services: readonly DescService[], input: Failure): PlannedFailure {
  const { method: name, times = 1, with: effectName, afterBytes } = parseInput(failureSchema, input, "failure");
  const all = services.flatMap(({ methods }) => methods);
  const methods = all.filter((method) => method.name === name || methodName(method) === name);
  if (methods.length === 0) {
    const near = closestName(name, name.includes("/") ? all.map(methodName) : all.map((method) => method.name));
    throw new RequestError(`unknown method ${quoted(name)}`, {
      advice: near === undefined ? "Use the name of a method, such as ExportNetworkHistory." : `Did you mean ${near}?`,
    });
  }
  const effect = parseEffect(effectName, afterBytes);
  if (effect.kind === "code" && effect.afterBytes > 0 && !methods.every(isExport)) {
    const exports = all.filter(isExport).map((method) => method.name);
    const settingOf = (nameOf: OptionNames) =>
      effectName === AFTER_ARCHIVE ? AFTER_ARCHIVE : `${nameOf("afterBytes")} with an error code`;
    throw new RequestError((nameOf) => `${name} is not an export, so ${settingOf(nameOf)} does not apply to it`, {
      advice: (nameOf) =>
        `Use a code without ${nameOf("afterBytes")}, cut or stall, or one of the methods ${exports.join(", ")}.`,
    });
  }
  return { methods: methods.map(methodName), times, effect };
}

function methodName({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

/** Reports whether a method streams the bytes of a file, so that errors can occur within the file and after it. */
function isExport({ methodKind, output }: DescMethod): boolean {
  return methodKind === "server_streaming" && output.typeName === HttpBodySchema.typeName;
}

function parseEffect(name: string | number, afterBytes: number | undefined): FailureEffect {
  if (name === "cut" || name === "stall") {
    return { kind: name, afterBytes: afterBytes ?? 0 };
  }
  if (name === AFTER_ARCHIVE) {
    if (afterBytes !== undefined) {
      throw new RequestError((nameOf) => `${AFTER_ARCHIVE} cannot be combined with ${nameOf("afterBytes")}`, {
        advice: (nameOf) =>
          `Omit ${nameOf("afterBytes")}, or use a code, such as INTERNAL, to fail after a number of bytes.`,
      });
    }
    return { kind: "code", code: Code.Internal, afterBytes: Number.POSITIVE_INFINITY };
  }
  const code = codes.get(String(name).toUpperCase());
  if (code === undefined) {
    throw new RequestError(`unknown failure ${quoted(String(name))}`, {
      advice: `Use cut, stall, ${AFTER_ARCHIVE} or a code: ${[...codes.keys()].filter((key) => Number.isNaN(Number(key))).join(", ")}.`,
    });
  }
  return { kind: "code", code, afterBytes: afterBytes ?? 0 };
}

const AFTER_ARCHIVE = "error-after-archive";

/** Codes by their names in gRPC, and by their numbers. */
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
