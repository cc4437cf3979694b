import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { create, type DescMessage, isMessage, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";

/** How a call is to fail. */
export interface Failure {
  /** The method's name, such as `ExportNetworkHistory`, alone or behind its service's. */
  readonly method: string;
  /** How many calls are to fail; 1 by default. */
  readonly times?: number | undefined;
  /**
   * What happens: an error of a code (`UNAVAILABLE`, or its number); the connection is cut (`cut`) or falls silent
   * (`stall`); or the answer comes whole, and an error behind it (`error-after-archive`).
   */
  readonly with: string | number;
  /**
   * After how many bytes of the answer; 0 by default, before anything is sent. For an error they are bytes of the body
   * that the messages carry, for `cut` and `stall` bytes of the wire.
   */
  readonly afterBytes?: number | undefined;
}

/** What makes calls fail. */
export interface Failures {
  /** Make the next calls of a method fail. What was asked for before comes first. */
  failNext(failure: Failure): void;
  /** An interceptor of a server. */
  readonly interceptor: Interceptor;
  /** Make a listener of an HTTP server whose connections can be cut. */
  breakable<Q extends IncomingMessage | Http2ServerRequest, S extends ServerResponse | Http2ServerResponse>(
    listener: (request: Q, response: S) => void,
  ): (request: Q, response: S) => void;
}

type Planned =
  | { readonly kind: "code"; readonly code: Code; readonly afterBytes: number }
  | { readonly kind: "cut" | "stall"; readonly afterBytes: number };

/** The answer that a call is written to. */
interface Answer {
  breakOff(kind: "cut" | "stall", afterBytes: number): void;
}

/**
 * Make what lets calls fail, to rehearse what networks and nodes do.
 *
 * @param methods the full names of all methods, such as `datanode.api.v2.TradingDataService/Info`
 * @returns the parts for both servers
 */
export function createFailures(methods: readonly string[]): Failures {
  const planned = new Map<string, { readonly failure: Planned; times: number }[]>();
  const answers = new AsyncLocalStorage<Answer>();

  function take(method: string): Planned | undefined {
    const waiting = planned.get(method) ?? [];
    const next = waiting[0];
    if (next !== undefined) {
      next.times -= 1;
      if (next.times === 0) {
        waiting.shift();
      }
    }
    return next?.failure;
  }

  return {
    failNext(failure) {
      const name = methods.find((method) => method === failure.method || method.endsWith(`/${failure.method}`));
      if (name === undefined) {
        throw new RequestError(`there is no method ${quoted(failure.method)}`, {
          advice: "Give its name as the definitions have it, such as ExportNetworkHistory.",
        });
      }
      const { times = 1 } = failure;
      if (!Number.isSafeInteger(times) || times < 1) {
        throw new RequestError(`times is ${times}`, { advice: "Give a whole number from 1 on." });
      }
      planned.set(name, [...(planned.get(name) ?? []), { failure: plan(failure), times }]);
    },

    interceptor: (next) => async (request) => {
      const failure = take(`${request.service.typeName}/${request.method.name}`);
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
      if (!response.stream) {
        throw rehearsed(failure.code);
      }
      return { ...response, message: failing(response.message, failure) };
    },

    breakable: (listener) => (request, response) => {
      answers.run({ breakOff: (kind, afterBytes) => breakOff(response, kind, afterBytes) }, () =>
        listener(request, response),
      );
    },
  };
}

function plan({ with: what, afterBytes = 0 }: Failure): Planned {
  if (!Number.isSafeInteger(afterBytes) || afterBytes < 0) {
    throw new RequestError(`afterBytes is ${afterBytes}`, { advice: "Give a whole number of bytes from 0 on." });
  }
  if (what === "cut" || what === "stall") {
    return { kind: what, afterBytes };
  }
  if (what === "error-after-archive") {
    return { kind: "code", code: Code.Internal, afterBytes: Number.POSITIVE_INFINITY };
  }
  const code = codes.get(String(what).toUpperCase());
  if (code === undefined) {
    throw new RequestError(`a call cannot fail with ${quoted(String(what))}`, {
      advice: `Give cut, stall, error-after-archive or a code: ${[...codes.keys()].filter((name) => Number.isNaN(Number(name))).join(", ")}.`,
    });
  }
  return { kind: "code", code, afterBytes };
}

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

/** Let an answer end after so many bytes of it: its connection is cut, or nothing more comes. */
function breakOff(response: ServerResponse | Http2ServerResponse, kind: "cut" | "stall", afterBytes: number): void {
  let left = afterBytes;
  const stop = () => {
    if (kind === "cut") {
      ("stream" in response ? response.stream.session : response.socket)?.destroy();
    }
  };
  // Node's two kinds of answers write alike, by the same two functions.
  const writable: { write: unknown; end: unknown } = response;
  const write = response.write.bind(response) as (bytes: Uint8Array, done?: () => void) => boolean;
  const pass = (piece: unknown) => {
    const bytes = typeof piece === "string" || piece instanceof Uint8Array ? Buffer.from(piece) : Buffer.alloc(0);
    if (bytes.length <= left) {
      left -= bytes.length;
      return bytes.length === 0 || write(bytes);
    }
    write(bytes.subarray(0, left), stop);
    left = -1;
    return false;
  };
  writable.write = (piece: unknown, ...rest: readonly unknown[]) => {
    const goesOn = left >= 0 && pass(piece);
    const done = rest.at(-1);
    if (left >= 0 && typeof done === "function") {
      done();
    }
    return goesOn;
  };
  writable.end = (piece: unknown) => {
    if (left >= 0) {
      pass(piece);
      stop();
    }
    return response;
  };
  if (afterBytes === 0) {
    left = -1;
    stop();
  }
}
