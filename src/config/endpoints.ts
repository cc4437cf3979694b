import * as z from "zod";
import { address, bytes, group, headers, host, milliseconds, oneOf, pemFile, trueOrFalse, url } from "./values.js";

const MIB = 1024 * 1024;

/** How a server and a client prove who they are. */
export const tls = group({
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

/** How gRPC is spoken. */
export const grpc = group({
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

/** How the HTTP gateway is called. */
export const rest = group({
  url,
  streams: oneOf("envelopes", "messages", "array").default("envelopes"),
  jsonAsText: trueOrFalse.default(false),
  ...endpoint,
});
