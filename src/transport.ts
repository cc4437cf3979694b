/**
 * Connect transports for any API, and the layers to build others of.
 *
 * @module tradewire/transport
 */

export type { AnyTransport, ClosableTransport } from "./transport/closable.js";
export {
  createGrpcJsTransport,
  createGrpcTransport,
  createRestTransport,
  type GrpcJsTransportOptions,
  type GrpcTransportOptions,
  type RestTransportOptions,
} from "./transport/factories.js";
export type { CallEnd, CallInfo, FallbackInfo, Hooks, RetryInfo, SentTo, WaitInfo } from "./transport/hooks.js";
export { closing } from "./transport/layers/closing.js";
export { type FallbackMember, type FallbackOptions, fallback } from "./transport/layers/fallback.js";
export { idleLimited } from "./transport/layers/idle.js";
export { type Endpoint, withOurErrors } from "./transport/layers/our-errors.js";
export { createPace, type Pace } from "./transport/layers/pace.js";
export { paced } from "./transport/layers/paced.js";
export { retryInterceptor } from "./transport/layers/retry.js";
export { tellingHooks } from "./transport/layers/tell-hooks.js";
export { limited } from "./transport/layers/time-limits.js";
