export type { TlsConfig } from "../../../src/config/schema.js";
export { createGrpcJsTransport } from "../../../src/transport/grpc-js/grpc-js.js";
export { statusError } from "../../../src/transport/grpc-js/status.js";
export { callError } from "../../../src/transport/layers/failure.js";
