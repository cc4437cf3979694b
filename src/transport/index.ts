/**
 * Connect transports for any API, and the layers to build others of.
 *
 * @module tradewire/transport
 */

export type { AnyTransport, ClosableTransport } from "./closable.js";
export {
  createGrpcJsTransport,
  createGrpcTransport,
  createRestTransport,
  type GrpcJsTransportOptions,
  type GrpcTransportOptions,
  type RestTransportOptions,
} from "./factories.js";
export type { CallEnd, CallInfo, FallbackInfo, Hooks, RetryInfo, SentTo, WaitInfo } from "./hooks.js";
export { closing } from "./layers/closing.js";
export { type FallbackMember, type FallbackOptions, fallback } from "./layers/fallback.js";
export { idleLimited } from "./layers/idle.js";
export { type Endpoint, withOurErrors } from "./layers/our-errors.js";
export { createPace, type Pace } from "./layers/pace.js";
export { paced } from "./layers/paced.js";
export { retryInterceptor } from "./layers/retry.js";
export { tellingHooks } from "./layers/tell-hooks.js";
export { limited } from "./layers/time-limits.js";
