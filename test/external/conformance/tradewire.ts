import { createRegistry } from "@bufbuild/protobuf";
import { NodeError, TradewireError } from "../../../src/base/errors/index.js";
import { createClient } from "../../../src/client/index.js";
import type { CreateCaller } from "./caller.js";
import { callWith, connectFailure } from "./connect-caller.js";
import { Codec, Compression } from "./gen/connectrpc/conformance/v1/config_pb.js";
import {
  ConformanceService,
  file_connectrpc_conformance_v1_service,
} from "./gen/connectrpc/conformance/v1/service_pb.js";

/**
 * Make the function that makes clients of this library, as their users have them. Retries are on: no method of the
 * suite is one that only reads, so none is called twice.
 */
export function tradewire(transport: "grpc" | "grpc-js"): CreateCaller {
  return ({ host, port, codec, compression, messageReceiveLimit }, tls) => {
    const isSecure = tls.caFile !== undefined;
    const client = createClient(
      {
        transport,
        grpc: {
          url: `${isSecure ? "https" : "http"}://${host}:${port}`,
          codec: codec === Codec.JSON ? "json" : "proto",
          compression: compression === Compression.GZIP ? "gzip" : "none",
          ...(isSecure && { tls }),
        },
        ...(messageReceiveLimit > 0 && { limits: { maxMessageBytes: messageReceiveLimit } }),
      },
      { registry: createRegistry(file_connectrpc_conformance_v1_service) },
    );
    return {
      call: callWith(client.service(ConformanceService)),
      failure(reason) {
        if (!(reason instanceof TradewireError)) {
          throw reason; // Everything that a call throws is one of the library's errors.
        }
        const { details, metadata } = connectFailure(reason.cause);
        const message = reason instanceof NodeError ? reason.object.message : reason.summary;
        return { code: reason.code, message, details, metadata };
      },
      close: () => client.close(),
    };
  };
}
