import { isIPv4, isIPv6 } from "node:net";
import * as v from "valibot";
import type { ErrorCode } from "../../base/errors/error-codes.js";
import { closestName, describeType } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { isChainId } from "../../base/input/assert.js";
import { integer, isUnknownKey, objectSchema, strictObject } from "../../base/input/schemas.js";
import { snapshot } from "../../base/input/snapshot.js";
import { profiles } from "../../base/profile.js";
import { MAX_TIMER_MS } from "../../base/runtime/index.js";
import {
  type AnyTransport,
  type Config,
  DEFAULT_MAX_TOKENS,
  DEFAULT_TOKEN_RATIO,
  endpointOf,
  type HeaderFunction,
  type NamedTransport,
  nodesOf,
  type PemSource,
  type TransportName,
  transportsOf,
  urlsOf,
} from "./client-config.js";
import { exposedHost } from "./loopback.js";
import { isSubmitting } from "./submitting-methods.js";

export type {
  ClientConfig,
  Config,
  FallbackConfig,
  GrpcConfig,
  HeaderFunction,
  HeadersCall,
  NamedTransport,
  PemSource,
  TimeoutConfig,
  TlsConfig,
  TransportName,
} from "./client-config.js";
export { firstUrl, transportsOf, urlsOf } from "./client-config.js";

const URL_FORM = "must be a URL such as http://127.0.0.1:3007 or https://node.example";

/** The URL of a server. */
const url = v.pipe(
  v.string(URL_FORM),
  v.check(isHttpUrl, ({ input }) => {
    const near = httpUrlOf(input);
    return near === undefined ? URL_FORM : `must be a URL such as ${near}`;
  }),
  v.check(
    (text) => !isHttpUrl(text) || isPlainUrl(text),
    "must not contain a username, password, query or fragment; put secrets into headers",
  ),
);

/** The URLs of one or several nodes. */
export const urls = v.union(
  [
    url,
    v.pipe(
      v.array(url, URL_FORM),
      v.minLength(1, "must contain at least one URL"),
      v.check((list) => new Set(list).size === list.length, "must not contain a URL twice"),
    ),
  ],
  URL_FORM,
);

/** The expected form of a proxy's URL, for messages. */
export const PROXY_FORM = "must be the URL of an HTTP proxy, such as http://user:password@proxy.example:3128";

const proxyUrl = (form: string) => v.pipe(v.string(form), v.check(isProxyUrl, form));

const PROXY_CHOICE = `${PROXY_FORM}, false, or an object with https and http (such URLs) and noProxy (a list of hosts)`;

/** The proxy of all nodes, none, or rules in the form of the environment variables. */
export const proxyChoice = v.pipe(
  v.union(
    [
      v.literal(false),
      proxyUrl(PROXY_CHOICE),
      strictObject({
        https: v.optional(proxyUrl(PROXY_FORM)),
        http: v.optional(proxyUrl(PROXY_FORM)),
        noProxy: v.optional(v.array(v.string())),
      }),
    ],
    PROXY_CHOICE,
  ),
  v.metadata({ kind: "proxy" }),
);

/** Returns the schema of an integer in a range. */
const integerFrom = (min: number, max: number, unit = "") =>
  integer(min, max, `must be a whole number ${unit}from ${min} to ${max}`);

/** A time in milliseconds, up to the maximum of Node's timers. */
export const milliseconds = integerFrom(1, MAX_TIMER_MS, "of milliseconds ");

/** Returns the schema of a size in bytes. */
const bytes = (min: number, max: number) => integerFrom(min, max, "of bytes ");

/** Returns the schema of a choice between words. */
const oneOf = <const Choice extends string>(...choices: Choice[]) =>
  v.picklist(choices, `must be one of ${choices.join(", ")}`);

/** Headers by name, or a function that returns them. Errors never show their values, which may be secret. */
export const headers = v.pipe(
  v.custom<Record<string, string> | HeaderFunction>(
    // `Headers` and lists of pairs have no keys to read the names from.
    (value) =>
      typeof value === "function" || (typeof value === "object" && value !== null && !(Symbol.iterator in value)),
    'must be an object of headers, such as {"authorization":"Bearer ..."}',
  ),
  // A record of Valibot leaves out a header with the name `constructor`.
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && typeof dataset.value !== "function") {
      const input = dataset.value;
      for (const [key, value] of Object.entries<unknown>(input)) {
        const refuse = (origin: "key" | "value", message: string) =>
          addIssue({ message, path: [{ type: "object", origin, input, key, value }] });
        if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(key)) {
          refuse("key", "has an invalid name: use letters, digits and -");
        } else if (isForbiddenHeader(key)) {
          refuse("key", "must not be set: the connection sets this header");
        }
        if (typeof value !== "string") {
          refuse("value", "must be a string");
        } else if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
          refuse("value", "must not contain line breaks or characters outside Latin-1");
        }
      }
    }
  }),
  v.transform((input) => (typeof input === "function" ? input : { ...input })),
  v.metadata({ kind: "headers" }),
);

/** The path of a PEM file. `loadConfig` makes it absolute. */
export const pemFile = v.pipe(
  v.string("must be the path of a PEM file"),
  v.regex(/^[^\0\r\n]+$/, "must be the path of a PEM file, not its content"),
  v.metadata({ kind: "file" }),
);

const PEM_FORM = "must be PEM text, which starts with -----BEGIN, or a function that returns it";

/** A certificate or a key in PEM, or a function that returns one. Errors never show it. */
export const pemSource = v.pipe(
  v.custom<PemSource>(
    (value) => typeof value === "function" || (typeof value === "string" && value.includes("-----BEGIN ")),
    PEM_FORM,
  ),
  v.metadata({ kind: "pem" }),
);

/** A boolean. */
export const trueOrFalse = v.boolean("must be true or false");

/** A host name. */
export const host = v.pipe(v.string("must be a hostname"), v.regex(/^[^\s\p{Cc}]+$/u, "must be a hostname"));

/** A chain's identifier. */
export const chainId = v.pipe(
  v.string("must be a string"),
  v.check(isChainId, "must be 1 to 50 characters of A-Z a-z 0-9 . _ -"),
);

/** An IP address and a port. */
export const address = v.pipe(
  v.string("must be a string"),
  v.check(isAddress, "must be an IP address and a port, such as 10.0.0.1:3007"),
);

/** Returns the schema of an object that may have no other keys. */
const group = <const Entries extends v.ObjectEntries>(entries: Entries) =>
  objectSchema(entries, "must be an object", () => "is unknown");

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Returns whether all parts of a URL are sent with requests and may be logged. */
/** Returns the URL that a host and port without a scheme, or with another one, stand for; undefined if there is none. */
function httpUrlOf(text: string): string | undefined {
  const [, scheme = "", host = ""] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([\w.[\]:-]+:\d+(?:\/.*)?)$/i.exec(text) ?? [];
  const url = `${/s$/i.test(scheme) || /:443\b/.test(host) ? "https" : "http"}://${host}`;
  return isHttpUrl(url) && isPlainUrl(url) ? url : undefined;
}

function isPlainUrl(text: string): boolean {
  const { username, password } = new URL(text);
  return username === "" && password === "" && !/[?#]/.test(text);
}

export function isProxyUrl(text: string): boolean {
  if (!isHttpUrl(text)) {
    return false;
  }
  const { pathname, username, password } = new URL(text);
  return pathname === "/" && !/[?#]/.test(text) && isPercentEncoded(username) && isPercentEncoded(password);
}

function isPercentEncoded(text: string): boolean {
  try {
    return !/\p{Cc}/u.test(decodeURIComponent(text));
  } catch {
    return false;
  }
}

function isAddress(text: string): boolean {
  const [, v6, v4, port] = /^(?:\[([^\]%]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  return (isIPv6(v6 ?? "") || isIPv4(v4 ?? "")) && Number(port) >= 1 && Number(port) <= 65_535;
}

/** Headers of the connection and of the framing, which only the HTTP client may set. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Returns whether only the HTTP client may set a header. */
export function isForbiddenHeader(name: string): boolean {
  return FORBIDDEN.has(name.toLowerCase());
}

const MIB = 1024 * 1024;

/** The TLS options of an endpoint. */
const tls = group({
  ca: v.optional(pemSource),
  cert: v.optional(pemSource),
  key: v.optional(pemSource),
  caFile: v.optional(pemFile),
  certFile: v.optional(pemFile),
  keyFile: v.optional(pemFile),
  serverName: v.optional(host),
});

const endpoint = {
  tls: v.optional(tls),
  headers: v.optional(headers),
  allowInsecureHeaders: v.optional(trueOrFalse, false),
};

/** The options of the gRPC endpoint. */
const grpc = group({
  url: urls,
  codec: v.optional(oneOf("proto", "json"), "proto"),
  compression: v.optional(oneOf("none", "gzip"), "none"),
  windowBytes: v.optional(bytes(65_535, 2 ** 31 - 1), 8 * MIB),
  keepaliveMs: v.optional(milliseconds, 310_000),
  addresses: v.optional(
    v.pipe(
      v.array(address, "must be a list of addresses, such as 10.0.0.1:3007"),
      v.minLength(1, "must contain at least one address"),
    ),
  ),
  ...endpoint,
});

/** The options of the HTTP gateway. */
const rest = group({
  url: urls,
  streams: v.optional(oneOf("envelopes", "messages", "array"), "envelopes"),
  jsonAsText: v.optional(trueOrFalse, false),
  ...endpoint,
});

/** A key of the configuration. */
export interface ConfigKey {
  /** Its path in the configuration, such as `["grpc", "windowBytes"]`. */
  readonly path: readonly string[];
  /** The path with dots, such as `grpc.windowBytes`. */
  readonly name: string;
  /** The environment variable that sets it, such as `TRADEWIRE_GRPC_WINDOW_BYTES`. */
  readonly variable: string;
  /** The format of its value as text; `texts` are one or several. The values of headers may be secret. */
  readonly kind: "text" | "file" | "number" | "boolean" | "list" | "texts" | "headers" | "proxy" | "pem";
  /** The schema of its value, without its default. */
  readonly schema: v.GenericSchema;
}

/** The prefix of all environment variables. */
export const VARIABLE_PREFIX = "TRADEWIRE_";

/** Returns the keys of a schema: all its leaves. */
function schemaKeys(schema: v.GenericSchema, path: readonly string[] = []): ConfigKey[] {
  const inner = isOptional(schema) ? schema.wrapped : schema;
  const object = "pipe" in inner && Array.isArray(inner.pipe) ? inner.pipe.find(isObject) : undefined;
  if (object !== undefined) {
    return Object.entries(object.entries).flatMap(([key, value]) => schemaKeys(value, [...path, key]));
  }
  const words = path.map((key) => key.replace(/(?=[A-Z])/g, "_").toUpperCase());
  const variable = `${VARIABLE_PREFIX}${words.join("_")}`;
  return [{ path, name: path.join("."), variable, kind: kindOf(inner), schema: inner }];
}

/** Returns the value at a path of a configuration that may be invalid. */
export function valueAt(config: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined,
    config,
  );
}

type Optional = v.OptionalSchema<v.GenericSchema, unknown>;
type StrictObject = v.StrictObjectSchema<Record<string, v.GenericSchema>, undefined>;

const isOptional = (schema: v.GenericSchema): schema is Optional => schema.type === "optional";
const isObject = (item: { type: string }): item is StrictObject => item.type === "strict_object";

/** The formats of types of schemas as text. */
const KINDS: ReadonlyMap<string, ConfigKey["kind"]> = new Map([
  ["number", "number"],
  ["boolean", "boolean"],
  ["array", "list"],
  ["union", "texts"],
]);

function kindOf(schema: v.GenericSchema): ConfigKey["kind"] {
  const { kind } = v.getMetadata(schema);
  if (kind === "file" || kind === "headers" || kind === "proxy" || kind === "pem") {
    return kind;
  }
  const { type } = schema;
  return KINDS.get(type) ?? "text";
}

/** The sources of the values of a configuration. */
export interface ConfigOrigins {
  /** Returns a path with the source of its value, such as `tradewire.config.json: grpc.windowBytes`. */
  at(path: readonly PropertyKey[]): string;
  /** Returns the source of a key's value, such as `--transport`; undefined if there is only one source. */
  sourceOf(name: string): string | undefined;
}

/** The origins of a configuration that has a single source. */
export const singleOrigin: ConfigOrigins = {
  at: (path) => path.join(".") || "the configuration",
  sourceOf: () => undefined,
};

/** What is wrong with a configuration, and the key that is probably meant if one is unknown. */
interface Problem {
  readonly text: string;
  readonly near?: NearMiss;
}

/**
 * Describes each issue of the schema: the place, the value found and the valid values. The texts never contain a secret.
 */
function describeIssues(
  issues: readonly v.BaseIssue<unknown>[],
  input: unknown,
  keys: readonly ConfigKey[],
  origins: ConfigOrigins,
): Problem[] {
  return issues.flatMap((issue) => {
    const path = issue.path?.map(({ key }) => String(key)) ?? [];
    const parent = path.slice(0, -1);
    if (isUnknownKey(issue)) {
      // The issue is about the first of them.
      const known = new Set(keys.filter((key) => startsWith(key.path, parent)).map((key) => key.path[parent.length]));
      const others = Object.keys(Object(valueAt(input, parent))).filter((key) => !known.has(key));
      const unknown = others.length === 0 ? path.slice(-1) : others; // An inherited key is not among them.
      return unknown.map((key) => unknownKey([...parent, key], keys, origins));
    }
    if (issue.type === "raw_check" && issue.path?.at(-1)?.origin === "key") {
      return [{ text: `${origins.at(parent)} ${issue.message}` }];
    }
    return [{ text: describeIssue(origins.at(path), issue.message, valueAt(input, path), keyAt(path, keys)) }];
  });
}

function unknownKey(path: readonly PropertyKey[], keys: readonly ConfigKey[], origins: ConfigOrigins): Problem {
  const groups = new Set(keys.map((key) => key.path.slice(0, -1).join(".")));
  const written = path.join(".");
  const meant = meantKey(written, [...keys.map(({ name }) => name), ...groups]);
  return {
    text: `${origins.at(path)} is not a known key`,
    ...(meant !== undefined && { near: { written, meant } }),
  };
}

/** Returns the key at a path, or the key that contains the path. */
function keyAt(path: readonly PropertyKey[], keys: readonly ConfigKey[]): ConfigKey | undefined {
  return keys.find((key) => startsWith(path, key.path));
}

const startsWith = (path: readonly PropertyKey[], start: readonly PropertyKey[]) =>
  start.every((part, index) => path[index] === part);

function describeIssue(place: string, message: string, value: unknown, key: ConfigKey | undefined): string {
  if (value === undefined) {
    return `${place} is missing: it ${message}`;
  }
  if (!message.startsWith("must be ")) {
    return `${place} ${message}`;
  }
  // A header may contain a token, and an invalid path may be the private key itself instead of the path of its file.
  const isShown = key !== undefined && key.kind !== "headers" && key.kind !== "file" && key.kind !== "pem";
  if (isShown && typeof value === "string") {
    return `${place} ${message} (got ${JSON.stringify(withoutSecrets(value).slice(0, 100))})`;
  }
  const isPlain = isShown && (typeof value === "number" || typeof value === "boolean");
  return `${place} ${message} (got ${isPlain ? value : describeType(value)})`;
}

/** Returns a text without the parts of a URL that may be secret: the password in front of the host, and the query. */
function withoutSecrets(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, "$1***@").replace(/[?#].*$/s, "?***");
}

function reasons(names: readonly string[], { sourceOf }: ConfigOrigins): string {
  const texts = names.flatMap((name) => {
    const source = sourceOf(name);
    return source === undefined
      ? []
      : [source === "default" ? `${name} has its default value` : `${name} is set by ${source}`];
  });
  return texts.length === 0 ? "" : ` (${texts.join(", ")})`;
}

/** The maximum of `limits.maxJsonBytes`: about the maximum length of a string in V8. */
export const MAX_JSON_BYTES = 2 ** 29;

const timeouts = group({
  connectMs: v.optional(milliseconds, 10_000),
  callMs: v.optional(milliseconds, 60_000),
  idleMs: v.optional(milliseconds),
});

const METHOD_FORM = "must be the full name of a method, such as library.v1.LibraryService/Search";

const FRACTION_FORM = "must be a number from 0.001 to 1";
const fraction = v.pipe(
  v.number(FRACTION_FORM),
  v.minValue(0.001, FRACTION_FORM),
  v.maxValue(1, FRACTION_FORM),
  v.metadata({ min: 0.001, max: 1 }),
);

const retry = group({
  tries: v.optional(integerFrom(1, 100), 3),
  baseMs: v.optional(milliseconds, 100),
  maxMs: v.optional(milliseconds, 10_000),
  methods: v.optional(
    v.array(
      v.pipe(
        v.string(METHOD_FORM),
        v.regex(/^[A-Za-z_][\w.]{0,500}\/[A-Za-z_]\w{0,200}$/, METHOD_FORM),
        v.check(
          (name) => !isSubmitting(name),
          "must not be a method that submits transactions, which are never retried",
        ),
      ),
      "must be a list of full names of methods, such as library.v1.LibraryService/Search",
    ),
  ),
  maxTokens: v.optional(integerFrom(1, 1000), DEFAULT_MAX_TOKENS),
  tokenRatio: v.optional(fraction, DEFAULT_TOKEN_RATIO),
});

const fallback = group({
  strategy: v.optional(oneOf("first", "round-robin"), "first"),
  maxLagBlocks: v.optional(integerFrom(1, 1_000_000, "of blocks "), 20),
  pauseMs: v.optional(milliseconds, 30_000),
  maxPauseMs: v.optional(milliseconds, 300_000),
});

const limits = group({
  maxMessageBytes: v.optional(bytes(1, 2 ** 31 - 1), 64 * MIB),
  maxJsonBytes: v.optional(bytes(1, MAX_JSON_BYTES), 64 * MIB),
  maxArchiveBytes: v.optional(bytes(1, 2 ** 32 - 1), 512 * MIB),
  callsPerSecond: v.optional(integerFrom(1, 1_000_000)),
});

export const transportNames = ["grpc", "grpc-js", "rest"] as const satisfies readonly TransportName[];

const TRANSPORTS = `must be one of auto, ${transportNames.join(", ")}, or a list of the last three`;

export const isTransport = (value: unknown) => typeof Object(value).unary === "function";
const anyTransport = v.custom<AnyTransport>(isTransport);
const namedTransport = v.custom<NamedTransport>((value) => {
  const { name, transport } = Object(value);
  return typeof name === "string" && name !== "" && isTransport(transport);
});
const oneTransport = v.union([v.picklist(transportNames), anyTransport, namedTransport], TRANSPORTS);

/** The value of the key `transport`. */
export const transportChoice = v.union(
  [
    v.literal("auto"),
    oneTransport,
    v.pipe(
      v.array(oneTransport, TRANSPORTS),
      v.minLength(1, "must contain at least one transport"),
      v.check(
        (list) => new Set(transportsOf(list).map(transportName)).size === list.length,
        "must not contain two transports of the same name",
      ),
    ),
  ],
  TRANSPORTS,
);

export function transportName(transport: TransportName | NamedTransport): string {
  return typeof transport === "string" ? transport : transport.name;
}

/**
 * The schema of a configuration. The types in client-config.ts document the keys.
 *
 * @internal
 */
const configSchema = group({
  transport: v.optional(transportChoice),
  chainId: v.optional(chainId),
  profile: v.optional(oneOf(...profiles), "specification"),
  grpc: v.optional(grpc),
  rest: v.optional(rest),
  proxy: v.optional(proxyChoice),
  timeouts: v.optional(timeouts, {}),
  retry: v.optional(retry, {}),
  fallback: v.optional(fallback, {}),
  limits: v.optional(limits, {}),
});

/** A value that is wrong because of others. */
interface Conflict {
  readonly path: readonly string[];
  readonly message: string;
  /** The names of the other keys. */
  readonly because: readonly string[];
  /** The code of the error, if no other value is wrong. */
  readonly errorCode?: ErrorCode;
}

/** Finds the values that are wrong because of the values of other keys. */
function conflictsOf(config: SchemaOutput): Conflict[] {
  const conflicts: Conflict[] = [];
  const refuse = (path: string[], message: string, ...because: string[]) => conflicts.push({ path, message, because });
  const { transport } = config;
  const names = transport === undefined ? [] : transportsOf(transport).filter((each) => typeof each === "string");
  const needing = (endpoint: "grpc" | "rest") => names.find((name) => endpointOf(name) === endpoint);
  for (const endpoint of ["grpc", "rest"] as const) {
    const name = needing(endpoint);
    if (config[endpoint] === undefined && name !== undefined) {
      refuse([endpoint, "url"], `is required for the transport ${transport === "auto" ? "auto" : name}`, "transport");
    }
  }
  if (config.grpc === undefined && config.rest === undefined && transport === undefined) {
    refuse([], "must contain grpc.url, rest.url or both");
  }
  const isGrpcJs = names.includes("grpc-js");
  if (isGrpcJs && config.grpc?.codec === "json") {
    refuse(["grpc", "codec"], "must be proto for the transport grpc-js; only grpc supports json", "transport");
  }
  if (config.grpc?.addresses !== undefined) {
    if (!isGrpcJs) {
      refuse(["grpc", "addresses"], "is available only for the transport grpc-js", "transport");
    }
    if (urlsOf(config.grpc).length > 1) {
      refuse(["grpc", "addresses"], "cannot be combined with more than one URL", "grpc.url");
    }
    if (typeof config.proxy === "string") {
      refuse(
        ["grpc", "addresses"],
        "cannot be combined with a proxy: connections to these addresses are direct",
        "proxy",
      );
    }
  }
  if (isGrpcJs && urlsOf(config.grpc).some((each) => new URL(each).pathname !== "/")) {
    refuse(["grpc", "url"], "must have no path for the transport grpc-js", "transport");
  }
  for (const name of ["grpc", "rest"] as const) {
    const endpoint = config[name];
    const tls = endpoint?.tls ?? {};
    for (const part of ["ca", "cert", "key"] as const) {
      if (tls[part] !== undefined && tls[`${part}File`] !== undefined) {
        refuse([name, "tls", part], `cannot be combined with ${part}File`, `${name}.tls.${part}File`);
      }
    }
    if (((tls.certFile ?? tls.cert) === undefined) !== ((tls.keyFile ?? tls.key) === undefined)) {
      refuse([name, "tls"], "must have both certFile and keyFile, or both cert and key, or none of them");
    }
    const plain = nodesOf(endpoint).filter(({ url }) => new URL(url).protocol === "http:");
    if (endpoint === undefined || plain.length === 0) {
      continue;
    }
    if (endpoint.tls !== undefined) {
      const which =
        plain.length === urlsOf(endpoint).length
          ? `${name}.url`
          : `${plain.map(({ url }) => url).join(", ")} in ${name}.url`;
      refuse([name, "tls"], `requires an https URL, but ${which} is plain http`, `${name}.url`);
    }
    const exposed = plain.map(exposedHost).find((host) => host !== undefined);
    const hasHeaders = typeof endpoint.headers === "function" || Object.keys(endpoint.headers ?? {}).length > 0;
    if (exposed !== undefined && hasHeaders && !endpoint.allowInsecureHeaders) {
      const message = `would be sent over plain HTTP to ${exposed}; use https, or set ${name}.allowInsecureHeaders`;
      const because = [`${name}.url`, `${name}.addresses`];
      conflicts.push({ path: [name, "headers"], message, because, errorCode: "TW_INSECURE_HEADER" });
    }
  }
  return conflicts;
}

/** All keys of the configuration, with the names of their environment variables. */
export const configKeys = schemaKeys(configSchema);

/**
 * The types of the schema, before and after the defaults are filled in.
 *
 * @internal
 */
export type SchemaInput = v.InferInput<typeof configSchema>;
/** @internal */
export type SchemaOutput = v.InferOutput<typeof configSchema>;

/**
 * Validates a configuration and fills in the defaults.
 *
 * @param config the configuration, a {@link ClientConfig}
 * @returns the configuration with all defaults and the chosen transport
 * @throws {@link RequestError} if it is invalid: the error lists each invalid key, its value and the valid values
 *
 * @example
 * const config = readConfig({ rest: { url: "http://127.0.0.1:3008" } });
 */
export function readConfig(config: unknown): Config {
  return parseConfig(config, singleOrigin);
}

/**
 * Validates a configuration whose values come from several sources, and fills in the defaults.
 *
 * @throws {@link RequestError} as `readConfig` does, with the source of each invalid value
 * @internal
 */
export function parseConfig(config: unknown, origins: ConfigOrigins): Config {
  config = snapshot(config);
  const result = v.safeParse(configSchema, config);
  const conflicts = result.success ? conflictsOf(result.output) : [];
  if (result.success && conflicts.length === 0) {
    return chooseTransport(result.output);
  }
  const problems: readonly Problem[] = result.success
    ? conflicts.map(({ path, message, because }) => ({
        text: `${origins.at(path)} ${message}${reasons(because, origins)}`,
      }))
    : describeIssues(result.issues, config, configKeys, origins);
  const codes = new Set(conflicts.map(({ errorCode }) => errorCode));
  const [only = "TW_CONFIGURATION"] = codes.size === 1 ? codes : [];
  throw new RequestError(`the configuration is invalid: ${problems.map(({ text }) => text).join("; ")}`, {
    errorCode: only,
    advice: `${suggestionText(problems.flatMap(({ near }) => near ?? []))}Correct these values. configuration.md in the documentation lists all keys.`,
  });
}

function chooseTransport({ transport, grpc, rest, ...shared }: SchemaOutput): Config {
  if (grpc !== undefined) {
    return { ...shared, transport: transport ?? (rest === undefined ? "grpc" : "auto"), grpc, rest };
  }
  if (rest !== undefined) {
    return { ...shared, transport: transport ?? "rest", grpc, rest };
  }
  const own = transportsOf(transport ?? []).filter((each) => typeof each !== "string");
  return { ...shared, transport: own };
}

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

export function suggestionText(misses: readonly NearMiss[]): string {
  const [only, ...others] = misses;
  return only !== undefined && others.length === 0
    ? `Did you mean ${only.meant}? `
    : misses.map(({ written, meant }) => `Did you mean ${meant} instead of ${written}? `).join("");
}
