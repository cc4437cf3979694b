export type { TlsConfig } from "../../../src/config/config-schema.js";
export { statusError } from "../../../src/transport/grpc-js/grpc-js-status.js";
export { createRawGrpcJsTransport } from "../../../src/transport/grpc-js/grpc-js-transport.js";
export { callError } from "../../../src/transport/layers/library-errors.js";
