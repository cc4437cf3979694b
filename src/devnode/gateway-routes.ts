import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type HttpBinding, httpBindings } from "../http-rule/http-rule.js";

/** A path of the gateway. */
export interface Route {
  readonly method: DescMethod;
  readonly rule: HttpBinding;
}

/**
 * List the paths of a gateway, in the order in which they are tried.
 *
 * @param services the services whose methods it offers
 * @returns the paths. Deployed gateways take the last that fits: `/api/v2/node/signatures` is no node. A path that ends in a
 *   colon and a verb also matches templates without it, or with less of it: those come later
 */
export function gatewayRoutes(services: readonly DescService[]): readonly Route[] {
  return services
    .flatMap(({ methods }) => methods.flatMap((method) => httpBindings(method).map((rule) => ({ method, rule }))))
    .toReversed()
    .toSorted((a, b) => b.rule.template.verb.length - a.rule.template.verb.length);
}
