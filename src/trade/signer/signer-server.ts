import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as v from "valibot";
import { RequestError, TradewireError } from "../../base/errors/index.js";
import { createEventReporter } from "../../base/errors/observer.js";
import { limitWaiting } from "../../base/http-server/hardening.js";
import { tryParseJson } from "../../base/input/decode.js";
import { randomUUID, timeoutSignal } from "../../base/runtime/index.js";
import { onAbort, raceAbort } from "../../base/signal/abort.js";
import { setBounded } from "../../base/signal/collections.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import { decodeBase64, jsonReplacer } from "../../wire/json/json-values.js";
import type { KillReport } from "../guard/guard.js";
import { GUARD_MODES } from "../guard/policy.js";
import { encodeHex } from "../transaction/crypto.js";
import { withTimeout } from "../transaction/deadline.js";
import { withSharedCount } from "../transaction/shared-count.js";
import type { SignerShare } from "../transaction/signer.js";
import { errorToJson } from "./error-json.js";
import { MAX_MESSAGE_BYTES, MAX_REQUEST_BYTES, PATHS, requests } from "./signer-protocol.js";
import type { ServeSignerOptions, SignerServer } from "./signer-types.js";
import { listenOnSocket } from "./socket-file.js";

/** Maximum number of connections to a socket without a complete request, and of requests in progress. */
const MAX_WAITING = 128;
const MAX_ACTIVE = 64;
/** Maximum number of requests in progress that stop trading. Signatures do not count against it. */
const MAX_URGENT = 16;
/** Time limits until a request is complete, and of a connection between two requests, in milliseconds. */
const REQUEST_MS = 5000;
const IDLE_MS = 60_000;
/** Time limit of a signature, in milliseconds. */
const SIGN_MS = 10_000;
/** How long requests may continue after the server was closed, in milliseconds. */
const CLOSE_MS = 2000;
/** Maximum size of a request's head. */
const MAX_HEAD_BYTES = 8 * 1024;
/** Maximum number of shares that can be given back: those that were taken last. */
const MAX_SHARES = 10_000;

/**
 * Opens the sockets of a signer.
 *
 * @throws the errors of {@link serveSigner}
 */
export async function openSignerServer(options: ServeSignerOptions): Promise<SignerServer> {
  const { listen, admin, signal } = options;
  throwIfAborted(signal);
  const service = createService(options);
  const servers: { readonly server: Server; readonly socket: AsyncDisposable }[] = [];
  const open = async (path: string, isOperator: boolean) => {
    const server = createSocketServer((url, body) => service.answer(url, body, isOperator));
    try {
      servers.push({ server, socket: await listenOnSocket(server, path) });
      server.on("error", service.report); // For example, if the process has too many open files to accept a connection.
    } catch (reason) {
      server.close();
      throw reason;
    }
  };
  let closing: Promise<void> | undefined;
  const close = () => {
    leave();
    closing ??= Promise.all(
      servers.map(async ({ server, socket }) => {
        await closeServer(server);
        await socket[Symbol.asyncDispose]();
      }),
    ).then(() => undefined);
    return closing;
  };
  const leave = onAbort(signal, () => void close());
  try {
    await open(listen, false);
    if (admin !== undefined) {
      await open(admin, true);
    }
    throwIfAborted(signal);
  } catch (reason) {
    await close();
    throw reason;
  }
  return { close, [Symbol.asyncDispose]: close };
}

/** A response: its status and JSON body. */
interface Answer {
  readonly status: number;
  readonly body: unknown;
}

function createService({ guard, chainId, onEvent }: ServeSignerOptions) {
  const emit = createEventReporter(onEvent, "the signer");
  const counted = guard.takeShare === undefined ? withSharedCount(guard) : guard;
  const shares = new Map<string, SignerShare>();
  let killing: Promise<KillReport> | undefined;

  const requireKey = (publicKey: string) => {
    if (publicKey !== guard.publicKey) {
      throw new RequestError(`the signer uses the key ${guard.publicKey}, not ${publicKey}`, {
        advice: "Connect to the signer again: it was restarted with another key. Nothing was signed.",
      });
    }
  };

  async function sign(message: Uint8Array) {
    if (message.length > MAX_MESSAGE_BYTES) {
      throw new RequestError(
        `the message has ${message.length} bytes, which exceeds the maximum of ${MAX_MESSAGE_BYTES}`,
        {
          advice: "The network accepts no transaction of this size. Nothing was signed.",
        },
      );
    }
    const signature = await withTimeout(SIGN_MS, undefined, (ending) => raceAbort(guard.sign(message), ending));
    return { signature: encodeHex(signature) };
  }

  async function kill(): Promise<KillReport> {
    const report = await guard.kill();
    emit({ type: "killed", report });
    return report;
  }

  const routes: Readonly<Record<string, (body: unknown, isOperator: boolean) => unknown>> = {
    [PATHS.sign](body) {
      const { publicKey, message } = parse(requests.sign, body);
      requireKey(publicKey);
      const bytes = decodeBase64(message);
      if (bytes === undefined) {
        throw otherForm();
      }
      return sign(bytes);
    },
    async [PATHS.shares](body) {
      const { publicKey, hash, height } = parse(requests.shares, body);
      requireKey(publicKey);
      const share = await counted.takeShare?.({ hash, height: BigInt(height) });
      if (share === undefined) {
        return { share: null };
      }
      const id = randomUUID(); // Nobody can give back a share that another program has taken.
      setBounded(shares, id, share, MAX_SHARES);
      return { share: { id, count: share.count } };
    },
    [PATHS.returns](body) {
      const { id } = parse(requests.returns, body);
      shares.get(id)?.giveBack();
      shares.delete(id);
      return {};
    },
    [PATHS.mode](body, isOperator) {
      const { mode } = parse(requests.mode, body);
      if (!isOperator && GUARD_MODES.indexOf(mode) < GUARD_MODES.indexOf(guard.mode)) {
        throw new RequestError(`the mode is ${guard.mode}, and programs cannot change it to ${mode}`, {
          advice: "Only the operator can set a less strict mode: over the socket of --admin-socket, or with a restart.",
        });
      }
      if (mode !== guard.mode) {
        guard.setMode(mode);
        emit({ type: "mode", mode, by: isOperator ? "operator" : "program" });
      }
      return { mode: guard.mode };
    },
    async [PATHS.kill](body) {
      parse(requests.kill, body);
      killing ??= kill().finally(() => {
        killing = undefined;
      });
      return { report: await killing };
    },
  };

  return {
    report: (error: unknown) => emit({ type: "failed", error }),
    /** Answers a request. `body` is undefined for GET. It never throws. */
    async answer(url: string, body: unknown, isOperator: boolean): Promise<Answer> {
      if (url === PATHS.signer && body === undefined) {
        return { status: 200, body: { publicKey: guard.publicKey, chainId, mode: guard.mode } };
      }
      const route = Object.hasOwn(routes, url) && body !== undefined ? routes[url] : undefined;
      if (route === undefined) {
        return { status: 404, body: {} };
      }
      try {
        return { status: 200, body: await route(body, isOperator) };
      } catch (error) {
        emit(error instanceof TradewireError ? { type: "refused", error } : { type: "failed", error });
        return { status: 422, body: { error: errorToJson(error) } };
      }
    },
  };
}

function parse<S extends v.GenericSchema>(schema: S, body: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, body);
  if (!result.success) {
    throw otherForm();
  }
  return result.output;
}

function otherForm(): RequestError {
  return new RequestError("invalid request to the signer", {
    advice: "Use connectSigner() of the same version of tradewire as the signer process. Nothing was signed.",
  });
}

/** Creates a server with limits on all that a connection can send and hold. */
function createSocketServer(answer: (url: string, body: unknown) => Promise<Answer>): Server {
  const active = new Set<ServerResponse>();
  const urgent = new Set<ServerResponse>();

  /** Counts a complete POST as in progress until it is answered. Returns whether it may be. */
  function begin(url: string, response: ServerResponse): boolean {
    const isUrgent = url === PATHS.kill || url === PATHS.mode;
    if (!isUrgent && active.size >= MAX_ACTIVE) {
      return false;
    }
    const places = isUrgent ? urgent : active;
    places.add(response);
    response.once("close", () => places.delete(response));
    if (urgent.size > MAX_URGENT) {
      const [longest = response] = urgent;
      urgent.delete(longest);
      longest.destroy(); // What it has asked for goes on.
    }
    return true;
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "" } = request;
    if (method !== "GET" && method !== "POST") {
      send(response, { status: 405, body: {} }, true);
      return;
    }
    if (method === "GET") {
      send(response, await answer(url, undefined));
      return;
    }
    const read = await readBody(request).catch(() => undefined);
    if (read === undefined || response.destroyed) {
      response.destroy(); // The connection was closed.
    } else if (read === "too large") {
      send(response, { status: 413, body: {} }, true);
    } else if (!begin(url, response)) {
      send(response, { status: 503, body: {} }, true);
    } else {
      const json = tryParseJson(read.toString());
      send(response, json === undefined ? { status: 400, body: {} } : await answer(url, json));
    }
  }

  const server = createServer(
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: REQUEST_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: IDLE_MS,
      connectionsCheckingInterval: 1000,
    },
    (request, response) => void respond(request, response),
  );
  limitWaiting(server, MAX_WAITING);
  return server;
}

/** Reads a request's body, up to the maximum size. */
async function readBody(request: IncomingMessage): Promise<Buffer | "too large"> {
  if (Number(request.headers["content-length"] ?? 0) > MAX_REQUEST_BYTES) {
    return "too large";
  }
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    const bytes: Buffer = part;
    size += bytes.length;
    if (size > MAX_REQUEST_BYTES) {
      return "too large";
    }
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

function send(response: ServerResponse, { status, body }: Answer, isLast = false): void {
  if (response.destroyed) {
    return;
  }
  const bytes = Buffer.from(JSON.stringify(body, jsonReplacer));
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": bytes.length,
    ...(isLast && { connection: "close" }),
  });
  response.end(bytes);
}

/** Stops accepting connections, and allows requests in progress some time to end. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((done) => {
    server.close(() => done());
  });
  server.closeIdleConnections();
  const stop = onAbort(timeoutSignal(CLOSE_MS), () => server.closeAllConnections());
  await closed;
  stop();
}
