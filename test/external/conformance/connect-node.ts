import { readFileSync } from "node:fs";
import { createRegistry } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { compressionGzip, createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { CreateCaller } from "./caller.js";
import { callWith, connectFailure } from "./connect-caller.js";
import { Codec, Compression } from "./gen/connectrpc/conformance/v1/config_pb.js";
import {
  ConformanceService,
  file_connectrpc_conformance_v1_service,
} from "./gen/connectrpc/conformance/v1/service_pb.js";

/** Make a client of Connect's own gRPC transport, for comparison. */
export const connectNode: CreateCaller = (
  { host, port, codec, compression, messageReceiveLimit },
  { caFile, certFile, keyFile },
) => {
  const baseUrl = `${caFile === undefined ? "http" : "https"}://${host}:${port}`;
  const sessionManager = new Http2SessionManager(baseUrl, undefined, {
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    ...(certFile !== undefined && { cert: readFileSync(certFile) }),
    ...(keyFile !== undefined && { key: readFileSync(keyFile) }),
  });
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager,
    useBinaryFormat: codec !== Codec.JSON,
    ...(compression === Compression.GZIP && { sendCompression: compressionGzip }),
    jsonOptions: { registry: createRegistry(file_connectrpc_conformance_v1_service) },
    ...(messageReceiveLimit > 0 && { readMaxBytes: messageReceiveLimit }),
  });
  return {
    call: callWith(createClient(ConformanceService, transport)),
    failure: connectFailure,
    close: async () => sessionManager.abort(),
  };
};
