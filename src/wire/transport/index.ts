/**
 * Connect transports for any API, and the layers to build others from.
 *
 * @module tradewire/transport
 */

export type { HeaderFunction, HeadersCall } from "../config/client-config.js";
export type { SentTo } from "./call-context.js";
export type { CallEnd, CallInfo, FallbackInfo, Hooks, NodeChange, RetryInfo, WaitInfo } from "./hooks.js";
export { withHooks } from "./hooks.js";
export { closing } from "./layers/closing.js";
export { type FallbackMember, type FallbackOptions, fallback } from "./layers/fallback.js";
export { createPace, type Pace, paced } from "./layers/rate-limit.js";
export { retrying } from "./layers/retry.js";
export { idleLimited, limited } from "./layers/timeouts.js";
export { withOurErrors } from "./library-errors.js";
export {
  createGrpcJsTransport,
  createGrpcTransport,
  createRestTransport,
  type GrpcJsTransportOptions,
  type GrpcTransportOptions,
  type RestTransportOptions,
} from "./transport.js";
export type { AnyTransport, ClosableTransport, Endpoint } from "./transport-types.js";
