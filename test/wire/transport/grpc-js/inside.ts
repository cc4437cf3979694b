export type { TlsConfig } from "../../../../src/wire/config/config-schema.js";
export { statusError } from "../../../../src/wire/transport/grpc-js/grpc-js-status.js";
export { createRawGrpcJsTransport } from "../../../../src/wire/transport/grpc-js/grpc-js-transport.js";
export { callError } from "../../../../src/wire/transport/library-errors.js";
