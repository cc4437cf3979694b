import type { RequestListener } from "node:http";
import { ConnectError, createContextKey, createContextValues, type Interceptor } from "@connectrpc/connect";
import { Code } from "../base/errors/code.js";
import { monotonicMs } from "../base/runtime/index.js";

/** The rate limit of each client address. */
export interface RateLimit {
  /** The maximum burst of calls; 100 by default, as on deployed nodes. */
  readonly burst?: number | undefined;
  /** The calls that are added each second, up to `burst`; 20 by default. */
  readonly perSecond?: number | undefined;
  /** Milliseconds that an address is banned for; 600 000 by default. */
  readonly banMs?: number | undefined;
}

/** The rate limiter of a local node, which behaves like that of deployed nodes. */
export interface RateLimiter {
  /** The interceptor of the gRPC server, which counts unary calls. */
  readonly interceptor: Interceptor;
  /** Creates the context values that the interceptor needs. */
  contextValues(request: Addressed): ReturnType<typeof createContextValues>;
  /** Returns a request listener of an HTTP server that counts every request. */
  limited(listener: RequestListener): RequestListener;
}

interface Addressed {
  readonly socket: { readonly remoteAddress?: string | undefined };
}

interface Verdict {
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal?: { readonly message: string; readonly code: Code; readonly httpStatus: number };
}

const REFUSED = { message: "api request rate limit exceeded", code: Code.ResourceExhausted, httpStatus: 429 };
const BANNED = {
  message: "temporarily banned for continuing to request while rate limited",
  code: Code.PermissionDenied,
  httpStatus: 403,
};

/**
 * Creates the rate limiter of a local node. Each address has a token bucket. A call without a token is rejected, and takes a
 * token from a second bucket of the same size and rate. An address that empties the second bucket is banned.
 */
export function createRateLimiter({ burst = 100, perSecond = 20, banMs = 600_000 }: RateLimit): RateLimiter {
  const visitors = new Map<string, { calls: number; pardons: number; at: number; bannedUntil: number }>();

  function judge(address: string): Verdict {
    const now = monotonicMs();
    const visitor = visitors.get(address) ?? { calls: burst, pardons: burst, at: now, bannedUntil: now };
    visitors.set(address, visitor);
    const added = ((now - visitor.at) / 1000) * perSecond;
    visitor.calls = Math.min(visitor.calls + added, burst);
    visitor.pardons = Math.min(visitor.pardons + added, burst);
    visitor.at = now;
    if (now < visitor.bannedUntil) {
      const seconds = Math.ceil((visitor.bannedUntil - now) / 1000);
      return { headers: { "ratelimit-retry-after": String(seconds) }, refusal: BANNED };
    }
    const isTaken = visitor.calls >= 1;
    if (isTaken) {
      visitor.calls -= 1;
    } else if (visitor.pardons >= 1) {
      visitor.pardons -= 1;
    } else {
      visitor.bannedUntil = now + banMs;
    }
    const headers = {
      "ratelimit-limit": String(Math.round(perSecond)),
      "ratelimit-remaining": String(Math.floor(visitor.calls)),
      "ratelimit-reset": "1",
    };
    return isTaken ? { headers } : { headers, refusal: REFUSED };
  }

  return {
    contextValues: ({ socket }) => createContextValues().set(callerAddress, socket.remoteAddress ?? ""),

    interceptor: (next) => async (req) => {
      if (req.stream) {
        return next(req);
      }
      const { headers, refusal } = judge(req.contextValues.get(callerAddress));
      if (refusal !== undefined) {
        throw new ConnectError(refusal.message, refusal.code, headers);
      }
      const response = await next(req).catch((reason: unknown) => {
        const error = ConnectError.from(reason);
        setAll(error.metadata, headers);
        throw error;
      });
      setAll(response.header, headers);
      return response;
    },

    limited: (listener) => (request, response) => {
      const { headers, refusal } = judge(request.socket.remoteAddress ?? "");
      response.setHeaders(new Map(Object.entries(headers)));
      if (refusal === undefined) {
        listener(request, response);
        return;
      }
      response.writeHead(refusal.httpStatus, { "content-type": "text/plain; charset=utf-8" }).end(refusal.message);
    },
  };
}

/** The client address of a call. */
const callerAddress = createContextKey("", { description: "the address that a call comes from" });

function setAll(target: Headers, headers: Verdict["headers"]): void {
  for (const [name, value] of Object.entries(headers)) {
    target.set(name, value);
  }
}
