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
} from "../../src/wire/config/config-schema.js";

/** The meaning of each key, for docs/configuration.md. */
const MEANINGS: Readonly<Record<string, string>> = {
  transport:
    "`grpc` is gRPC on Node's HTTP/2, `grpc-js` is a channel of `@grpc/grpc-js`, and `rest` is the HTTP gateway. A list such as `rest,grpc` starts with the preferred one. `auto` is `grpc,rest`",
  chainId:
    "the chain to sign for, 1 to 50 characters of `A-Z a-z 0-9 . _ -`. Nodes on another chain are rejected. Without it, transactions are signed only for nodes on loopback",
  profile:
    "rules to follow where [deployed nodes differ](differences.md) from the published API documentation. With `deployed`, the first chunk of an export needs no extensions, input data is submitted without the chain's identifier in front, orders and stop orders are not requested oldest first, and block numbers in an archive's name are padded if the node names none (`network-trades-000001-000300.zip`). Individual options and your own path take precedence",
  "grpc.url": "the node's gRPC URL, or a list for several nodes; `grpc-js` allows no path",
  "grpc.codec":
    "the encoding of messages. `json` makes an archive a third larger on the wire, and is not available for `grpc-js`",
  "grpc.compression":
    "the compression of requests. Responses may use gzip in any case, but some servers use it only if the request does",
  "grpc.windowBytes": "the HTTP/2 flow-control window of each stream and of the connection",
  "grpc.keepaliveMs":
    "how long a connection with calls in flight may be silent before it is pinged ([Idle streams](#idle-streams))",
  "grpc.addresses":
    "addresses to use in turn instead of the URL's host, for example `10.0.0.1:3007,[2001:db8::1]:3007`; `grpc-js` only",
  "grpc.tls.ca":
    "the certificate authorities to trust, as PEM text instead of a file. Programs may give a function, which is called for each connection ([Certificates](#certificates))",
  "grpc.tls.cert": "the client's certificate, as for `ca`",
  "grpc.tls.key": "its private key, as for `ca`",
  "grpc.tls.caFile": "PEM file with the certificate authorities to trust, instead of the system's",
  "grpc.tls.certFile": "PEM file with the client's certificate",
  "grpc.tls.keyFile": "PEM file with the client certificate's private key",
  "grpc.tls.serverName": "the name that the server's certificate must have, if it is not the URL's host",
  "grpc.headers":
    "additional headers of every request, such as a token. Programs may give a function ([Tokens that expire](#tokens-that-expire))",
  "grpc.allowInsecureHeaders": "whether these headers may be sent over plain HTTP to another machine",
  "rest.url":
    "the URL of the HTTP gateway, or a list for several nodes. Its path is put in front of each method's path",
  "rest.streams":
    'the format of streams: one `{"result": ...}` or `{"error": ...}` per line, bare messages, or one JSON array of messages. Nodes send envelopes',
  "rest.jsonAsText":
    "whether responses of type `text/plain` are parsed as JSON, for gateways that send JSON with this type",
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
    "the HTTP proxy for all nodes, for example `http://user:password@proxy.example:3128`, or `false` for none. By default, `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` decide ([Proxies](#proxies))",
  "timeouts.connectMs":
    "the maximum time until a connection is usable; over gRPC, until the server has answered in HTTP/2",
  "timeouts.callMs":
    "the maximum duration of a call that does not stream, including the wait for its turn and all retries",
  "timeouts.idleMs":
    "the maximum idle time of a stream. Every byte counts; with `grpc-js`, every message. The default is a minute for downloads such as exports, and no limit for live streams",
  "retry.tries": "the maximum number of attempts of a call that may be repeated or that was not sent; 1 for no retries",
  "retry.baseMs":
    "the maximum wait before the first retry. It doubles with each retry, and the wait is a random part of it",
  "retry.maxMs": "the maximum wait before any retry",
  "retry.methods":
    "full names of additional methods that may be repeated, for example `library.v1.LibraryService/Search`: reads whose definitions do not say so ([Retries](#retries))",
  "retry.maxTokens":
    "the retry budget of all calls of a client. Each failure takes a token, and calls are retried while more than half of the tokens are left",
  "retry.tokenRatio": "the part of a token that a successful call returns",
  "fallback.strategy":
    "which node reads use: the `first` usable node, or all in turn (`round-robin`). Reads for transactions always use the first",
  "fallback.maxLagBlocks": "with several nodes, how many blocks a node may lag the others before it is skipped",
  "fallback.pauseMs": "how long `auto` avoids a transport that could not connect. It doubles with each failure",
  "fallback.maxPauseMs": "the maximum of `fallback.pauseMs` after repeated failures",
  "limits.maxMessageBytes":
    "the maximum size of a received gRPC message; a list of 300,000 history segments has up to 48 MiB",
  "limits.maxJsonBytes":
    "the maximum size of a received JSON object: a chunk of a stream or a complete body. A list of more than about 240,000 history segments exceeds the default",
  "limits.maxArchiveBytes": "the maximum size of an archive that `toZip()` loads into memory",
  "limits.callsPerSecond":
    "the maximum number of calls per second, for programs that share an address with others. The node's own limit is respected in any case",
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

/** Returns a table of all keys with their type, default, environment variable and meaning. */
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
    throw new Error(`site/reference/configuration.ts does not say what ${name} means`);
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
  throw new Error(`site/reference/configuration.ts has no words for the type of ${name}`);
}
