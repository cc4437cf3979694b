import { isIPv4, isIPv6 } from "node:net";
import * as z from "zod";
import { closestName, describeType } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";
import { isChainId } from "../input/assert.js";
import { integer } from "../input/schemas.js";
import { MAX_TIMER_MS } from "../runtime/index.js";
import { profiles } from "../schema/profile.js";
import type { Config } from "./client-config.js";
import { exposedHost } from "./loopback.js";

export type {
  ClientConfig,
  Config,
  FallbackConfig,
  GrpcConfig,
  Limits,
  RestConfig,
  RetryConfig,
  TimeoutConfig,
  TlsConfig,
  TransportName,
} from "./client-config.js";

/** The URL of a server. */
export const url = z
  .url({
    protocol: /^https?$/,
    abort: true, // The next check requires a URL.
    error: "must be a URL such as http://127.0.0.1:3007 or https://node.example",
  })
  .refine(isPlainUrl, "must have no user name, password, query or fragment; what is secret goes into headers");

/**
 * Returns the schema of an integer in a range.
 *
 * @param min the minimum
 * @param max the maximum
 * @param unit the unit for the message, with a trailing space, such as `of bytes `
 * @returns the schema
 */
const integerFrom = (min: number, max: number, unit = "") =>
  integer(min, max, `must be a whole number ${unit}from ${min} to ${max}`);

/** A time in milliseconds, up to the maximum of Node's timers. */
export const milliseconds = integerFrom(1, MAX_TIMER_MS, "of milliseconds ");

/**
 * Returns the schema of a size in bytes.
 *
 * @param min the minimum
 * @param max the maximum
 * @returns the schema
 */
const bytes = (min: number, max: number) => integerFrom(min, max, "of bytes ");

/**
 * Returns the schema of a choice between words.
 *
 * @param choices the valid words
 * @returns the schema
 */
const oneOf = <const Choice extends string>(...choices: Choice[]) =>
  z.enum(choices, `must be one of ${choices.join(", ")}`);

/** Headers by name. Errors never show their values, which may be secret. */
export const headers = z.record(
  z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "has a name that no header can have: letters, digits and - are possible")
    .refine((name) => !isForbiddenHeader(name), "has the name of a header that only the connection sets"),
  z
    .string("must be a text")
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "must have no line breaks, and no characters beyond Latin-1"),
  'must be an object of headers, such as {"authorization":"Bearer ..."}',
);

/** The path of a PEM file. `loadConfig` makes it absolute. */
export const pemFile = z
  .string("must be the path of a PEM file")
  .regex(/^[^\0\r\n]+$/, "must be the path of a PEM file, not what is in it")
  .meta({ file: true });

/** A boolean. */
export const trueOrFalse = z.boolean("must be true or false");

/** A host name. */
export const host = z.string("must be a host's name").regex(/^[^\s\p{Cc}]+$/u, "must be a host's name");

/** A chain's identifier. */
export const chainId = z
  .string("must be a text")
  .refine(isChainId, "must be a chain's identifier: 1 to 50 characters of A-Z a-z 0-9 . _ -");

/** An IP address and a port. */
export const address = z
  .string("must be a text")
  .refine(isAddress, { abort: true, error: "must be an IP address and a port, such as 10.0.0.1:3007" });

/**
 * Returns the schema of an object that may have no other keys.
 *
 * @param shape the schema of each key
 * @returns the schema
 */
function group<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, "must be an object");
}

/** Returns whether all parts of a URL are sent with requests and may be logged. */
function isPlainUrl(text: string): boolean {
  const { username, password } = new URL(text);
  return username === "" && password === "" && !/[?#]/.test(text);
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

/**
 * Returns whether only the HTTP client may set a header.
 *
 * @param name the header's name, in any case
 * @returns whether callers must not set it
 */
export function isForbiddenHeader(name: string): boolean {
  return FORBIDDEN.has(name.toLowerCase());
}

const MIB = 1024 * 1024;

/** The TLS options of an endpoint. */
const tls = group({
  caFile: pemFile.optional(),
  certFile: pemFile.optional(),
  keyFile: pemFile.optional(),
  serverName: host.optional(),
});

const endpoint = {
  tls: tls.optional(),
  headers: headers.optional(),
  allowInsecureHeaders: trueOrFalse.default(false),
};

/** The options of the gRPC endpoint. */
const grpc = group({
  url,
  codec: oneOf("proto", "json").default("proto"),
  windowBytes: bytes(65_535, 2 ** 31 - 1).default(8 * MIB),
  keepaliveMs: milliseconds.default(310_000),
  addresses: z
    .array(address, "must be a list of addresses, such as 10.0.0.1:3007")
    .min(1, "must hold an address at least")
    .optional(),
  ...endpoint,
});

/** The options of the HTTP gateway. */
const rest = group({
  url,
  streams: oneOf("envelopes", "messages", "array").default("envelopes"),
  jsonAsText: trueOrFalse.default(false),
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
  /** The format of its value as text. The values of headers may be secret. */
  readonly kind: "text" | "file" | "number" | "boolean" | "list" | "headers";
  /** The schema of its value, without its default. */
  readonly schema: unknown;
}

/** The prefix of all environment variables. */
export const VARIABLE_PREFIX = "TRADEWIRE_";

/**
 * Returns the keys of a schema: all its leaves.
 *
 * @param schema a Zod schema
 * @param path the path of the schema in the configuration
 * @returns the keys, in the order of the schema
 */
export function schemaKeys(schema: unknown, path: readonly string[] = []): ConfigKey[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) {
    return Object.entries(inner.shape).flatMap(([key, value]) => schemaKeys(value, [...path, key]));
  }
  const words = path.map((key) => key.replace(/(?=[A-Z])/g, "_").toUpperCase());
  const variable = `${VARIABLE_PREFIX}${words.join("_")}`;
  return [{ path, name: path.join("."), variable, kind: kindOf(inner), schema: inner }];
}

/**
 * Returns the value at a path of a configuration that may be invalid.
 *
 * @param config any value
 * @param path the keys to the value
 * @returns the value; undefined if there is none
 */
export function valueAt(config: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined,
    config,
  );
}

function unwrap(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? unwrap(schema.unwrap())
    : schema;
}

function kindOf(schema: unknown): ConfigKey["kind"] {
  if (schema instanceof z.ZodNumber) {
    return "number";
  }
  if (schema instanceof z.ZodBoolean) {
    return "boolean";
  }
  if (schema instanceof z.ZodArray) {
    return "list";
  }
  if (schema instanceof z.ZodRecord) {
    return "headers";
  }
  return schema instanceof z.ZodString && schema.meta()?.["file"] === true ? "file" : "text";
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

/**
 * Describes each issue of the schema: the place, the value found and the valid values. The texts never contain a secret.
 *
 * @param issues the issues, as Zod reports them
 * @param input the invalid configuration
 * @param keys the keys of the configuration
 * @param origins the sources of the values
 * @returns a text for each issue, without a full stop
 */
function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  input: unknown,
  keys: readonly ConfigKey[],
  origins: ConfigOrigins,
): string[] {
  return issues.flatMap((issue) => {
    const { path } = issue;
    const place = origins.at(path);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => unknownKey([...path, key], keys, origins));
    }
    if (issue.code === "invalid_key") {
      return [`${origins.at(path.slice(0, -1))} ${issue.issues[0]?.message}`];
    }
    if (issue.code === "custom" && issue.params !== undefined) {
      return [`${place} ${issue.message}${reasons(issue.params["because"], origins)}`];
    }
    return [`${place} ${found(valueAt(input, path), keyAt(path, keys))}, but ${issue.message}`];
  });
}

function unknownKey(path: readonly PropertyKey[], keys: readonly ConfigKey[], origins: ConfigOrigins): string {
  const groups = new Set(keys.map((key) => key.path.slice(0, -1).join(".")));
  const near = closestName(path.join("."), [...keys.map(({ name }) => name), ...groups]);
  return `${origins.at(path)} is not known${near === undefined ? "" : `; the nearest is ${near}`}`;
}

/** Returns the key at a path, or the key that contains the path. */
function keyAt(path: readonly PropertyKey[], keys: readonly ConfigKey[]): ConfigKey | undefined {
  return keys.find((key) => key.path.every((part, index) => path[index] === part));
}

function found(value: unknown, key: ConfigKey | undefined): string {
  if (value === undefined) {
    return "is missing";
  }
  // A header may contain a token, and an invalid path may be the private key itself instead of the path of its file.
  const isShown = key !== undefined && key.kind !== "headers" && key.kind !== "file";
  if (isShown && typeof value === "string") {
    return `is ${JSON.stringify(withoutSecrets(value).slice(0, 100))}`;
  }
  return `is ${isShown && (typeof value === "number" || typeof value === "boolean") ? value : describeType(value)}`;
}

/** Returns a text without the parts of a URL that may be secret: the password in front of the host, and the query. */
function withoutSecrets(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, "$1***@").replace(/[?#].*$/s, "?***");
}

function reasons(because: unknown, { sourceOf }: ConfigOrigins): string {
  const names = Array.isArray(because) ? because.map(String) : [];
  const texts = names.flatMap((name) => {
    const source = sourceOf(name);
    return source === undefined
      ? []
      : [source === "default" ? `${name} has its default` : `${name} comes from ${source}`];
  });
  return texts.length === 0 ? "" : ` (${texts.join(", ")})`;
}

/** The maximum of `limits.maxJsonBytes`: about the maximum length of a string in V8. */
export const MAX_JSON_BYTES = 2 ** 29;

const timeouts = group({
  connectMs: milliseconds.default(10_000),
  callMs: milliseconds.default(60_000),
  idleMs: milliseconds.optional(),
});

const retry = group({
  tries: integerFrom(1, 100).default(3),
  baseMs: milliseconds.default(100),
  maxMs: milliseconds.default(10_000),
});

const fallback = group({
  pauseMs: milliseconds.default(30_000),
  maxPauseMs: milliseconds.default(300_000),
});

const limits = group({
  maxMessageBytes: bytes(1, 2 ** 31 - 1).default(64 * MIB),
  maxJsonBytes: bytes(1, MAX_JSON_BYTES).default(64 * MIB),
  maxArchiveBytes: bytes(1, 2 ** 32 - 1).default(512 * MIB),
  callsPerSecond: integerFrom(1, 1_000_000).optional(),
});

/**
 * The schema of a configuration. The types in client-config.ts document the keys.
 *
 * @internal
 */
export const configSchema = z
  .strictObject(
    {
      transport: oneOf("auto", "grpc", "grpc-js", "rest").optional(),
      chainId: chainId.optional(),
      profile: oneOf(...profiles).default("specification"),
      grpc: grpc.optional(),
      rest: rest.optional(),
      timeouts: timeouts.prefault({}),
      retry: retry.prefault({}),
      fallback: fallback.prefault({}),
      limits: limits.prefault({}),
    },
    "must be an object",
  )
  .superRefine((config, context) => {
    /** Rejects the value at a path because of the values of other keys. */
    const refuse = (path: string[], message: string, ...because: string[]) =>
      context.addIssue({ code: "custom", path, message, params: { because } });
    const { transport } = config;
    if (config.grpc === undefined && (transport === "auto" || transport === "grpc" || transport === "grpc-js")) {
      refuse(["grpc", "url"], `must be given for the transport ${transport}`, "transport");
    }
    if (config.rest === undefined && (transport === "auto" || transport === "rest")) {
      refuse(["rest", "url"], `must be given for the transport ${transport}`, "transport");
    }
    if (config.grpc === undefined && config.rest === undefined && transport === undefined) {
      refuse([], "must hold grpc.url, rest.url or both");
    }
    if (transport === "grpc-js" && config.grpc?.codec === "json") {
      refuse(["grpc", "codec"], "must be proto for the transport grpc-js; json is possible with grpc", "transport");
    }
    if (transport !== "grpc-js" && config.grpc?.addresses !== undefined) {
      refuse(["grpc", "addresses"], "is possible for the transport grpc-js only", "transport");
    }
    if (transport === "grpc-js" && config.grpc !== undefined && new URL(config.grpc.url).pathname !== "/") {
      refuse(["grpc", "url"], "must have no path for the transport grpc-js", "transport");
    }
    for (const name of ["grpc", "rest"] as const) {
      const endpoint = config[name];
      const { certFile, keyFile } = endpoint?.tls ?? {};
      if ((certFile === undefined) !== (keyFile === undefined)) {
        refuse([name, "tls"], "must have certFile and keyFile both, or neither");
      }
      if (endpoint === undefined || new URL(endpoint.url).protocol !== "http:") {
        continue;
      }
      if (endpoint.tls !== undefined) {
        refuse([name, "tls"], `goes with an https URL only, but ${name}.url is plain http`, `${name}.url`);
      }
      const exposed = exposedHost(endpoint);
      if (exposed !== undefined && Object.keys(endpoint.headers ?? {}).length > 0 && !endpoint.allowInsecureHeaders) {
        const message = `would go over plain HTTP to ${exposed}; use https, or set ${name}.allowInsecureHeaders`;
        refuse([name, "headers"], message, `${name}.url`, `${name}.addresses`);
      }
    }
  });

/** All keys of the configuration, with the names of their environment variables. */
export const configKeys = schemaKeys(configSchema);

/**
 * The types of the schema, before and after the defaults are filled in.
 *
 * @internal
 */
export type SchemaInput = z.input<typeof configSchema>;
/** @internal */
export type SchemaOutput = z.output<typeof configSchema>;

/**
 * Validates a configuration and fills in the defaults.
 *
 * @param config the configuration, a {@link ClientConfig}
 * @returns the configuration with all defaults, and with the transport chosen
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
 * @param config the configuration
 * @param origins the source of each value
 * @returns the configuration with all defaults
 * @throws {@link RequestError} as `readConfig` does, with the source of each invalid value
 * @internal
 */
export function parseConfig(config: unknown, origins: ConfigOrigins): Config {
  const result = configSchema.safeParse(config);
  if (result.success) {
    return chooseTransport(result.data);
  }
  const wrong = describeIssues(result.error.issues, config, configKeys, origins);
  throw new RequestError(`the configuration is wrong: ${wrong.join("; ")}`, {
    section: "requesterror-configuration",
    advice: "Correct what is named; docs/configuration.md lists what is possible.",
  });
}

function chooseTransport({ transport, grpc, rest, ...shared }: SchemaOutput): Config {
  if (grpc !== undefined && rest !== undefined && (transport ?? "auto") === "auto") {
    return { ...shared, transport: "auto", grpc, rest };
  }
  if (rest !== undefined && (transport === "rest" || grpc === undefined)) {
    return { ...shared, transport: "rest", rest, grpc };
  }
  if (grpc !== undefined) {
    return { ...shared, transport: transport === "grpc-js" ? transport : "grpc", grpc, rest };
  }
  throw new Error("the schema lets no configuration pass without a URL");
}
