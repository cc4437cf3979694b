import type { RequestListener } from "node:http";
import { Code, ConnectError, createContextKey, createContextValues, type Interceptor } from "@connectrpc/connect";
import { monotonicMs } from "../runtime/index.js";

/** The limit on the calls of each address. */
export interface RateLimit {
  /** The most calls at once; 100 by default, as on deployed nodes. */
  readonly burst?: number | undefined;
  /** The calls that are added in a second, up to `burst`; 20 by default. */
  readonly perSecond?: number | undefined;
  /** Milliseconds that an address is banned for; 600 000 by default. */
  readonly banMs?: number | undefined;
}

/** The limit on the calls to a local node, which it keeps as deployed nodes do. */
export interface RateLimiter {
  /** An interceptor of a gRPC server, which counts the calls that do not stream. */
  readonly interceptor: Interceptor;
  /** Make the context values that the interceptor needs. */
  contextValues(request: Addressed): ReturnType<typeof createContextValues>;
  /** Make a listener of an HTTP server that counts every request. */
  limited(listener: RequestListener): RequestListener;
}

interface Addressed {
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** A call that is taken has no message. */
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
 * Make the limit on the calls to a local node. Each address has a bucket of calls. A call beyond it is refused, and
 * takes from a second bucket of the same size and rate; who empties that one is banned.
 *
 * @param limit the buckets' size, the calls added in a second, and the milliseconds of a ban
 * @returns the parts for both servers; they count together
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

/** The address that a call comes from. */
const callerAddress = createContextKey("", { description: "the address that a call comes from" });

function setAll(target: Headers, headers: Verdict["headers"]): void {
  for (const [name, value] of Object.entries(headers)) {
    target.set(name, value);
  }
}
