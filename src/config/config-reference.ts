import * as v from "valibot";
import {
  address,
  type ConfigKey,
  chainId,
  configKeys,
  headers,
  host,
  milliseconds,
  pemFile,
  pemSource,
  proxyChoice,
  readConfig,
  transportChoice,
  trueOrFalse,
  urls,
  valueAt,
} from "./config-schema.js";

/** The meaning of each key, for docs/configuration.md. */
const MEANINGS: Readonly<Record<string, string>> = {
  transport:
    "`grpc` is gRPC on Node's HTTP/2, `grpc-js` a channel of `@grpc/grpc-js`, `rest` the HTTP gateway; a list such as `rest,grpc` has the preferred one first; `auto` is `grpc,rest`",
  chainId:
    "the chain to sign for, 1 to 50 characters of `A-Z a-z 0-9 . _ -`; a node on another one is refused, and without it only nodes on loopback are signed for",
  profile:
    "what to expect where deployed nodes differ from the specification: with `deployed`, the first chunk of an export needs no extensions, input data is submitted without the chain's identifier before it, the oldest orders and stop orders are not asked for first, and the name of an archive is padded where the node gives none (`network-trades-000001-000300.zip`); the single options and a path of one's own win",
  "grpc.url": "where the node answers gRPC, or a list of several nodes; no path for `grpc-js`",
  "grpc.codec":
    "how messages are written; `json` makes an archive a third larger on the wire, and is not for `grpc-js`",
  "grpc.compression":
    "how requests are compressed; responses may have gzip in any case, though some servers send it only if the request has it",
  "grpc.windowBytes": "flow-control windows of HTTP/2, of each stream and of the connection",
  "grpc.keepaliveMs":
    "a connection with calls under way from which nothing comes is pinged after this time ([Quiet streams](#quiet-streams))",
  "grpc.addresses":
    "taken in turn instead of the URL's host, such as `10.0.0.1:3007,[2001:db8::1]:3007`; for `grpc-js` only",
  "grpc.tls.ca":
    "the certificate authorities themselves, in PEM, instead of their file; programs may give a function, which is called for each connection ([Certificates](#certificates))",
  "grpc.tls.cert": "the client's certificate itself, as for `ca`",
  "grpc.tls.key": "its private key itself, as for `ca`",
  "grpc.tls.caFile": "PEM file with the certificate authorities to trust, instead of the system's",
  "grpc.tls.certFile": "PEM file with the client's certificate",
  "grpc.tls.keyFile": "PEM file with the client certificate's private key",
  "grpc.tls.serverName": "whom the server's certificate must be for, where that is not the URL's host",
  "grpc.headers":
    "further headers of every request, such as a token; in a program, also a function ([Tokens that expire](#tokens-that-expire))",
  "grpc.allowInsecureHeaders": "whether those headers may go over plain HTTP to another machine",
  "rest.url":
    "where the HTTP gateway answers, or a list of several nodes'; a path in it is put in front of every method's",
  "rest.streams":
    'the form of streams: `{"result": ...}` or `{"error": ...}` one a line, the messages themselves, or one JSON array of them; nodes send envelopes',
  "rest.jsonAsText": "whether answers of the type `text/plain` are read as JSON, for gateways that name it so",
  "rest.tls.ca": "as for gRPC",
  "rest.tls.cert": "as for gRPC",
  "rest.tls.key": "as for gRPC",
  "rest.tls.caFile": "as for gRPC",
  "rest.tls.certFile": "as for gRPC",
  "rest.tls.keyFile": "as for gRPC",
  "rest.tls.serverName": "as for gRPC",
  "rest.headers": "as for gRPC",
  "rest.allowInsecureHeaders": "as for gRPC",
  proxy:
    "the HTTP proxy of all nodes, such as `http://user:password@proxy.example:3128`, or `false` for none; by default `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` decide ([Proxies](#proxies))",
  "timeouts.connectMs": "until a connection is usable: over gRPC, until the server has spoken HTTP/2",
  "timeouts.callMs": "for a whole call that does not stream, with its wait for its turn and its retries",
  "timeouts.idleMs":
    "for a stream, the longest time in which nothing comes; bytes count, with `grpc-js` whole messages. Without it, a minute for downloads such as exports, and none for streams that observe",
  "retry.tries": "how often a call is tried at most, if it may be repeated or nothing of it was sent; 1 for no retries",
  "retry.baseMs": "the longest wait before the first retry; it doubles with each, and the wait is a random part of it",
  "retry.maxMs": "the longest wait before any retry",
  "retry.methods":
    "full names of further methods that may be repeated, such as `library.v1.LibraryService/Search`: reads whose definitions do not say so ([Retries](#retries))",
  "retry.maxTokens":
    "the retry budget that all calls of a client share: each failure takes a token, and calls are retried while more than half of the tokens are there",
  "retry.tokenRatio": "the part of a token that a successful call gives back",
  "fallback.strategy":
    "where reads go: to the `first` node that can be used, or to all in turn (`round-robin`); what transactions are made of goes to the first",
  "fallback.maxLagBlocks": "with several nodes, how far one may be behind the others before it is not used",
  "fallback.pauseMs": "how long `auto` leaves alone a transport that could not connect; it doubles with each failure",
  "fallback.maxPauseMs": "the longest time that it is left alone",
  "limits.maxMessageBytes": "the largest gRPC message that is read; a list of 300,000 history segments has up to 50 MB",
  "limits.maxJsonBytes":
    "the largest JSON object that is read: a chunk of a stream or a whole body; a list of history segments is over the default from about 240,000 on",
  "limits.maxArchiveBytes": "the largest archive that `toZip()` takes into memory",
  "limits.callsPerSecond":
    "the most calls that are sent in a second, for those who share an address with others; the node's own limit is kept anyway",
};

/** The names of types that cannot be derived from the schema. */
const TYPES: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [urls, "URL, or a list of them"],
  [transportChoice, "`auto`, `grpc`, `grpc-js`, `rest`, or a list of the last three"],
  [chainId, "a chain's identifier"],
  [pemFile, "path"],
  [pemSource, "PEM"],
  [host, "host's name"],
  [headers, "texts by name"],
  [proxyChoice, "URL, `false`, or rules"],
  [trueOrFalse, "boolean"],
  [milliseconds, "time"],
]);

/**
 * Returns a table of all keys: name, type, default, environment variable, meaning.
 *
 * @returns lines of Markdown
 */
export function configReference(): string {
  const defaults = readConfig({ grpc: { url: "http://127.0.0.1:3007" }, rest: { url: "http://127.0.0.1:3008" } });
  const rows = configKeys.map((key) => {
    const value = valueAt(defaults, key.path);
    const cells = [`\`${key.name}\``, typeOf(key), value === undefined ? "" : `\`${value}\``, `\`${key.variable}\``];
    return `| ${[...cells, meaningOf(key)].join(" | ")} |`.replaceAll("|  |", "| |");
  });
  return `| Key | Type | Default | Environment variable | Meaning |\n|---|---|---|---|---|\n${rows.join("\n")}\n`;
}

function meaningOf({ name }: ConfigKey): string {
  const meaning = MEANINGS[name];
  if (meaning === undefined) {
    throw new Error(`src/config/config-reference.ts does not say what ${name} means`);
  }
  return meaning;
}

function typeOf({ name, schema }: ConfigKey): string {
  const words = TYPES.get(schema);
  if (words !== undefined) {
    return words;
  }
  if ("options" in schema && Array.isArray(schema.options)) {
    return schema.options.map((option) => `\`${option}\``).join(", ");
  }
  if (schema.type === "number") {
    const { min, max } = v.getMetadata(schema);
    return `${min} to ${max}`;
  }
  if ("item" in schema && schema.item === address) {
    return "list of addresses and ports";
  }
  if (name === "retry.methods") {
    return "list of methods";
  }
  throw new Error(`src/config/config-reference.ts has no words for the type of ${name}`);
}
