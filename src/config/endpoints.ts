import * as z from "zod";
import { address, bytes, group, headers, host, milliseconds, oneOf, pemFile, trueOrFalse, url } from "./values.js";

const MIB = 1024 * 1024;

/** How a server and a client prove who they are. */
export const tls = group({
  /** Path of a PEM file with the certificate authorities to trust, instead of the system's. */
  caFile: pemFile.optional(),
  /** Path of a PEM file with the client's certificate. */
  certFile: pemFile.optional(),
  /** Path of a PEM file with the client certificate's private key. */
  keyFile: pemFile.optional(),
  /** The name that the server's certificate must be for, where it is not the URL's host. */
  serverName: host.optional(),
});

const endpoint = {
  tls: tls.optional(),
  /** Further headers of every request, such as a token. Over plain HTTP they are possible for loopback hosts only. */
  headers: headers.optional(),
  /** Allows `headers` over plain HTTP to other hosts too. */
  allowInsecureHeaders: trueOrFalse.default(false),
};

/** How gRPC is spoken. */
export const grpc = group({
  /** Where the node answers gRPC, such as `http://127.0.0.1:3007`; `https` for TLS. */
  url,
  /** How messages are written: `proto` is Protobuf's binary form; `json` its JSON, a third larger for archives. */
  codec: oneOf("proto", "json").default("proto"),
  /** Flow-control windows of HTTP/2, of each stream and of the connection, in bytes. */
  windowBytes: bytes(65_535, 2 ** 31 - 1).default(8 * MIB),
  /**
   * A connection with calls under way from which nothing comes is pinged after this time, in milliseconds, and closed
   * where the ping is not answered in the same time, or 15 seconds. The default is a little more than the five minutes
   * that gRPC servers ask for: they close connections that are pinged more often while nothing is to be sent.
   */
  keepaliveMs: milliseconds.default(310_000),
  /** Addresses such as `10.0.0.1:3007` to take in turn instead of the URL's host; for `grpc-js` only. */
  addresses: z
    .array(address, "must be a list of addresses, such as 10.0.0.1:3007")
    .min(1, "must hold an address at least")
    .optional(),
  ...endpoint,
});

/** How the HTTP gateway is called. */
export const rest = group({
  /** Where the HTTP gateway answers, such as `http://127.0.0.1:3008`; a path in it precedes every method's path. */
  url,
  /**
   * How methods that stream are answered: `envelopes` are objects `{"result": ...}` or `{"error": ...}`, `messages` the
   * messages themselves, one behind the other, and `array` is one JSON array of them.
   */
  streams: oneOf("envelopes", "messages", "array").default("envelopes"),
  /** Whether answers of the content type `text/plain` are read as JSON, for gateways that name it so. */
  jsonAsText: trueOrFalse.default(false),
  ...endpoint,
});
