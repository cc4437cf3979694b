import { Agent, request } from "node:http";
import * as v from "valibot";
import { Code } from "../../base/errors/code.js";
import { CanceledError, ConnectionError, ProtocolError, TradewireError } from "../../base/errors/index.js";
import { hasErrorCode, quotedPath } from "../../base/errors/node-errors.js";
import {
  assertKnownKeys,
  invalidTypeError,
  invalidValueError,
  isBytes,
  parseSignal,
  requireMs,
} from "../../base/input/assert.js";
import { tryParseJson } from "../../base/input/decode.js";
import { jsonObject } from "../../base/input/schemas.js";
import { withSnapshots } from "../../base/input/snapshot.js";
import { withEnding } from "../../base/signal/abort.js";
import type { KillOptions } from "../guard/guard.js";
import { KILL_MS } from "../guard/guard-types.js";
import { GUARD_MODES, type GuardMode } from "../guard/policy.js";
import { decodeHex } from "../transaction/crypto.js";
import { SIGNATURE_BYTES } from "../transaction/signature.js";
import type { SharedBlock } from "../transaction/signer.js";
import { errorFromJson, errorSchema } from "./error-json.js";
import { MAX_RESPONSE_BYTES, PATHS, responses } from "./signer-protocol.js";
import type { RemoteSigner } from "./signer-types.js";
import { requireOwnSocket, requireUnix } from "./socket-file.js";

/** How much longer to wait for the report of the kill switch than the signer's own maximum, in milliseconds. */
const REPORT_MS = 15_000;

/**
 * Opens the connection to a signer process.
 *
 * @throws the errors of {@link connectSigner}
 */
export async function openRemoteSigner(
  path: string,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<RemoteSigner> {
  const timeoutMs = requireMs("timeoutMs", timeout);
  requireUnix();
  requireOwnSocket(path);
  const { send, close } = createSocketRequests(path);
  const limits: RequestLimits = { timeoutMs, effect: "none" };
  const known = await send(PATHS.signer, undefined, responses.signer, { ...limits, signal }).catch(
    (reason: unknown) => {
      close();
      throw reason;
    },
  );
  const { publicKey, chainId } = known;
  const disconnect = async () => close();

  const remote: RemoteSigner = withSnapshots<RemoteSigner>({
    publicKey,
    chainId,

    async sign(message: Uint8Array) {
      if (!isBytes(message)) {
        throw invalidTypeError("message", message, "the bytes to sign");
      }
      const body = { publicKey, message: Buffer.from(message).toString("base64") };
      const { signature } = await send(PATHS.sign, body, responses.sign, limits);
      return decodeHex(signature, SIGNATURE_BYTES) ?? new Uint8Array(); // The schema has checked the digits.
    },

    async takeShare({ hash, height }: SharedBlock) {
      const body = { publicKey, hash, height: String(height) };
      const { share } = await send(PATHS.shares, body, responses.shares, limits);
      if (share === null) {
        return undefined;
      }
      let isBack = false;
      return {
        count: share.count,
        giveBack() {
          if (!isBack) {
            isBack = true;
            // If this fails, later transactions are only harder to make.
            send(PATHS.returns, { id: share.id }, responses.returns, limits).catch(() => undefined);
          }
        },
      };
    },

    mode: async () => (await send(PATHS.signer, undefined, responses.signer, limits)).mode,

    async setMode(mode: GuardMode) {
      if (!GUARD_MODES.includes(mode)) {
        throw invalidValueError("mode", mode, GUARD_MODES.join(" or "));
      }
      await send(PATHS.mode, { mode }, responses.mode, { ...limits, effect: "mode" });
    },

    async kill(killOptions: KillOptions = {}) {
      assertKnownKeys("options", killOptions, { timeoutMs: true, signal: true });
      const killMs = requireMs("timeoutMs", killOptions.timeoutMs ?? KILL_MS + REPORT_MS);
      const ending = parseSignal(killOptions.signal);
      const killLimits: RequestLimits = { timeoutMs: killMs, signal: ending, effect: "kill" };
      const { report } = await send(PATHS.kill, {}, responses.kill, killLimits);
      const { orders, stopOrders, positions } = report;
      return { ...report, orders, stopOrders, positions };
    },

    close: disconnect,
    [Symbol.asyncDispose]: disconnect,
  });
  return Object.freeze(remote);
}

/**
 * Maximum number of connections of a program to its signer. Further requests wait for one that is free, except for modes and the
 * kill switch, which have connections of their own.
 */
const MAX_SOCKETS = 16;

/** How long a connection stays open without a request, in milliseconds: less than the signer keeps it. */
const IDLE_MS = 30_000;

/** The possible effects of a request whose response is lost. */
type LostEffect = "none" | "mode" | "kill";

/** The advice about a request that the signer may have received. */
const LOST_ADVICE: Readonly<Record<LostEffect, string>> = {
  none: "Nothing was sent.",
  mode: "The mode may have changed: check it.",
  kill: "The signer may have halted and may be canceling all orders. Call kill() again to see which are left.",
};

/** The limits of a request, and its possible effects. */
export interface RequestLimits {
  /** Maximum time until the response, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
  /** The possible effects if the response is lost. */
  readonly effect: LostEffect;
}

/** Sends requests to a signer process. A request opens a connection if none is free. */
export interface SocketRequests {
  /**
   * Sends a request and checks its response.
   *
   * @throws {@link ConnectionError} if no signer listens, the connection ends before the response, or the time limit
   *   passes
   * @throws {@link CanceledError} if the signal was aborted
   * @throws {@link ProtocolError} if the response is not that of a signer
   * @throws the error that the signer responds with
   */
  send<S extends v.GenericSchema>(
    url: string,
    body: object | undefined,
    schema: S,
    limits: RequestLimits,
  ): Promise<v.InferOutput<S>>;
  /** Closes all connections. Later requests are refused. */
  close(): void;
}

/** A response as received. */
interface Received {
  readonly status: number;
  readonly body: string;
}

interface Sending {
  readonly effect: LostEffect;
  /** The possible effects so far: none before a connection has accepted the request. */
  lost: LostEffect;
}

/** The failure of an attempt. */
interface Failure {
  readonly reason: unknown;
  /** Whether the connection was used before, so that the signer may have closed it before it received the request. */
  readonly isReused: boolean;
}

export function createSocketRequests(path: string): SocketRequests {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: MAX_SOCKETS, timeout: IDLE_MS });
  const closing = new AbortController();

  /** Sends a request once. */
  function attempt(url: string, body: string | undefined, signal: AbortSignal, sending: Sending): Promise<Received> {
    return new Promise((resolve, reject) => {
      const sent = request({
        socketPath: path,
        agent: sending.effect === "none" && agent,
        path: url,
        method: body === undefined ? "GET" : "POST",
        signal,
        headers:
          body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      });
      const onConnect = () => {
        sending.lost = sending.effect;
      };
      sent.on("socket", (socket) => (socket.connecting ? socket.once("connect", onConnect) : onConnect()));
      const fail = (reason: unknown) => {
        const failure: Failure = { reason, isReused: sent.reusedSocket };
        reject(failure);
      };
      sent.on("error", fail);
      sent.on("response", (response) => {
        const parts: Buffer[] = [];
        let size = 0;
        response.on("data", (part: Buffer) => {
          size += part.length;
          parts.push(part);
          if (size > MAX_RESPONSE_BYTES) {
            response.destroy(foreignAnswer(path, sending.lost));
          }
        });
        response.on("error", fail);
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() }));
      });
      sent.end(body);
    });
  }

  /**
   * Sends a request, again while the signer had closed the connection that was to be used again. A signature is always the same for a
   * message, so that a repeated request does no harm.
   */
  function attemptUntilNew(...request: Parameters<typeof attempt>): Promise<Received> {
    const [, , signal] = request;
    return attempt(...request).catch((failure: Failure) =>
      failure.isReused && !signal.aborted ? attemptUntilNew(...request) : Promise.reject(failure),
    );
  }

  return {
    send(url, body, schema, { timeoutMs, signal, effect }) {
      const text = body === undefined ? undefined : JSON.stringify(body);
      return withEnding(timeoutMs, [closing.signal, signal], async (ending) => {
        const sending: Sending = { effect, lost: "none" };
        try {
          ending.signal.throwIfAborted();
          const received = await attemptUntilNew(url, text, ending.signal, sending);
          return parseAnswer(path, received, schema, sending.lost);
        } catch (reason) {
          const how = { isClosed: closing.signal.aborted, isLate: ending.isTimeUp(), signal, timeoutMs };
          throw failureOf(path, reason, { ...how, lost: sending.lost });
        }
      });
    },
    close() {
      closing.abort(new DOMException("the signer's client was closed", "AbortError"));
      agent.destroy();
    },
  };
}

function parseAnswer<S extends v.GenericSchema>(
  path: string,
  { status, body }: Received,
  schema: S,
  lost: LostEffect,
): v.InferOutput<S> {
  const json = tryParseJson(body);
  if (json === undefined) {
    throw foreignAnswer(path, lost);
  }
  if (status === 422) {
    const failure = v.safeParse(jsonObject({ error: errorSchema }), json);
    throw failure.success ? errorFromJson(failure.output.error) : foreignAnswer(path, lost);
  }
  if (status === 503) {
    throw new ConnectionError(`the signer at ${quotedPath(path)} has too many requests`, {
      code: Code.ResourceExhausted,
      advice: "Send fewer concurrent requests. Nothing was sent.",
      connected: false,
    });
  }
  const result = v.safeParse(schema, json);
  if (status !== 200 || !result.success) {
    throw foreignAnswer(path, lost);
  }
  return result.output;
}

function foreignAnswer(path: string, lost: LostEffect): ProtocolError {
  return new ProtocolError(`the process that listens on ${quotedPath(path)} does not respond like a signer`, {
    code: Code.Internal,
    advice: `Check the path, and use the same version of tradewire in the program and in the signer process. ${LOST_ADVICE[lost]}`,
  });
}

function failureOf(
  path: string,
  failure: unknown,
  how: Pick<RequestLimits, "signal" | "timeoutMs"> & {
    readonly isClosed: boolean;
    readonly isLate: boolean;
    readonly lost: LostEffect;
  },
): unknown {
  const reason = typeof failure === "object" && failure !== null && "reason" in failure ? failure.reason : failure;
  if (reason instanceof TradewireError) {
    return reason;
  }
  const at = quotedPath(path);
  const { lost } = how;
  const connected = lost !== "none";
  if (how.isClosed) {
    return new ConnectionError("this program closed the connection to the signer", {
      code: Code.Canceled,
      advice: `Use the signer before close(), or connect again. ${LOST_ADVICE[lost]}`,
      connected,
      isClosed: true,
    });
  }
  if (how.signal?.aborted === true) {
    return new CanceledError({ cause: how.signal.reason, mayHaveBeenSent: lost === "kill" });
  }
  if (how.isLate) {
    return new ConnectionError(`the signer at ${at} did not respond within ${how.timeoutMs} ms`, {
      code: Code.DeadlineExceeded,
      advice: `Check the signer process. ${LOST_ADVICE[lost]}`,
      connected,
      cause: reason,
    });
  }
  return lostSigner(at, reason, lost);
}

/** Returns the error of a connection that could not be opened, or has ended. */
function lostSigner(at: string, cause: unknown, lost: LostEffect): ConnectionError {
  const isNotThere = ["ENOENT", "ECONNREFUSED", "ENOTDIR"].some((code) => hasErrorCode(cause, code));
  const isForbidden = ["EACCES", "EPERM"].some((code) => hasErrorCode(cause, code));
  const what = isNotThere
    ? `no signer is listening on ${at}`
    : isForbidden
      ? `permission denied for the signer at ${at}`
      : `the signer at ${at} stopped before it responded`;
  const advice = isForbidden
    ? "Run the program as the user of the signer process."
    : "Start the signer process, or check why it stopped. The next call reconnects.";
  const code = isForbidden ? Code.PermissionDenied : Code.Unavailable;
  return new ConnectionError(what, {
    code,
    advice: `${advice} ${LOST_ADVICE[lost]}`,
    connected: lost !== "none",
    cause,
  });
}
