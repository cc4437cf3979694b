import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { monotonicMs } from "../../runtime/index.js";
import { METRICS_TYPE } from "./metrics.js";
import { page, pageScript, pageStyle } from "./page/page.js";
import { isReady, type SyncSnapshot } from "./snapshot.js";

/** An answer to a request. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What answers are made of. */
export interface AnswerSources {
  readonly snapshot: () => Promise<SyncSnapshot>;
  readonly writeMetrics: (snapshot: SyncSnapshot) => Promise<string>;
  /** For how many milliseconds nothing may happen though there is work. */
  readonly stallMs: number;
  /** Whether a `Host` header names this server. */
  readonly isOwnHost: (header: string | undefined) => boolean;
}

/** For how long a snapshot serves everybody who asks. */
const HOLDS_MS = 200;

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const SAFE = {
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${hash(pageScript)}`,
    `style-src ${hash(pageStyle)}`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Make what answers requests.
 *
 * @param sources what answers are made of
 * @returns answers a request; it never fails
 */
export function createAnswers({ snapshot, writeMetrics, stallMs, isOwnHost }: AnswerSources) {
  const shared = heldFor(HOLDS_MS, snapshot);
  const state = heldFor(HOLDS_MS, async () => JSON.stringify(await shared(), bigintAsText));
  const metrics = heldFor(HOLDS_MS, async () => writeMetrics(await shared()));
  const routes: Readonly<Record<string, () => Promise<Answer>>> = {
    "/": async () => answer(200, "text/html; charset=utf-8", page),
    "/state": async () => answer(200, "application/json", await state()),
    "/metrics": async () => answer(200, METRICS_TYPE, await metrics()),
    "/healthz": async () => {
      const { silentSeconds } = await shared();
      return silentSeconds * 1000 <= stallMs
        ? text(200, "ok")
        : text(503, `nothing has happened for ${Math.floor(silentSeconds)} s though there is work`);
    },
    "/readyz": async () => {
      const now = await shared();
      return isReady(now) ? text(200, "ok") : text(503, now.waiting?.message ?? "no plan was made yet");
    },
  };
  return async ({ method, url = "", headers }: IncomingMessage): Promise<Answer> => {
    if (!isOwnHost(headers.host)) {
      return text(421, "this host is not served here; see the option for further names");
    }
    const [path = ""] = url.split("?", 1);
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (route === undefined) {
      return text(404, "not found: there are /, /state, /metrics, /healthz and /readyz");
    }
    if (method !== "GET" && method !== "HEAD") {
      return text(405, "only GET and HEAD", { allow: "GET, HEAD" });
    }
    return await route().catch(() => text(500, "the state cannot be shown"));
  };
}

function text(status: number, line: string, headers: Answer["headers"] = {}): Answer {
  return answer(status, "text/plain; charset=utf-8", `${line}\n`, headers);
}

function answer(status: number, type: string, body: string, headers: Answer["headers"] = {}): Answer {
  return { status, headers: { ...SAFE, ...headers, "content-type": type }, body };
}

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

/** Share what was made among all who ask within a time. */
function heldFor<T>(ms: number, make: () => Promise<T>): () => Promise<T> {
  let held: { readonly value: Promise<T>; readonly until: number } | undefined;
  return () => {
    if (held === undefined || monotonicMs() >= held.until) {
      held = { value: make(), until: monotonicMs() + ms };
    }
    return held.value;
  };
}
