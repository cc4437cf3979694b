import { closestName } from "../../base/errors/error-text.js";

/** The keys that people look for under other names. The patterns match names in lower case and without separators. */
const OTHER_KEYS: readonly (readonly [names: RegExp, key: string])[] = [
  [/^(retry)?(max)?(attempts|retries|count)$/, "retry.tries"],
  [/^retry(delay|backoff)(ms)?$/, "retry.baseMs"],
  [/^(call)?timeout(ms)?$/, "timeouts.callMs"],
  [/^connecttimeout(ms)?$/, "timeouts.connectMs"],
  [/^idletimeout(ms)?$/, "timeouts.idleMs"],
  [/^(tokens?|headers|auth|authorization|apikey)$/, "grpc.headers"],
  [/^(host|endpoint|node|server)$/, "grpc.url"],
  [/^(chain|network)$/, "chainId"],
  [/^ratelimit$/, "limits.callsPerSecond"],
  [/^cafile$/, "grpc.tls.caFile"],
];

/** Returns the key of the configuration that an unknown name means. */
export function meantKey(name: string, keys: readonly string[]): string | undefined {
  const plain = name.toLowerCase().replace(/[._-]/g, "");
  const [, key] = OTHER_KEYS.find(([names]) => names.test(plain)) ?? [];
  return key ?? closestName(name, keys);
}

/** An unknown name, and the name that is probably meant. */
export interface NearMiss {
  readonly written: string;
  readonly meant: string;
}

/** Suggests the names that are meant. */
export function suggestionText(misses: readonly NearMiss[]): string {
  const [only, ...others] = misses;
  return only !== undefined && others.length === 0
    ? `Did you mean ${only.meant}? `
    : misses.map(({ written, meant }) => `Did you mean ${meant} instead of ${written}? `).join("");
}
