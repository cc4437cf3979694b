import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { HttpRule } from "../../gen/client/google/api/http_pb.js";
import { readBoundedFile } from "../file/bounded-file.js";
import { assertArray, invalidTypeError } from "../input/assert.js";
import { lazily } from "../input/lazy.js";
import { withHttpRule } from "./http-rule.js";

/** HTTP rules by the full name of their method, such as `vega.api.v1.CoreService.Statistics`. See {@link loadHttpRules}. */
export type HttpRules = ReadonlyMap<string, HttpRule>;

/** The maximum size of a file of HTTP rules, in bytes. */
const MAX_RULES_BYTES = 1024 * 1024;

/**
 * Reads the HTTP rules of methods from YAML files, as gateways keep them for definitions without `google.api.http` options.
 *
 * The files are service configurations (`type: google.api.Service`), and only the rules under `http` are used, as with the option
 * `grpc_api_configuration` of grpc-gateway's generator. A method's rule in a file replaces its option.
 *
 * @param paths the paths of the files
 * @param services all services that the files have rules for
 * @param options `signal` cancels reading
 * @returns the rules, for the option `httpRules` of a client or a transport
 * @throws `FileError` if a file cannot be read
 * @throws `RequestError` if a file is not such a configuration, or a rule does not fit its method, with the line
 *
 * @example
 * const httpRules = await loadHttpRules(["grpc-rest-bindings.yml"], [CoreService, CoreStateService]);
 * const transport = createRestTransport({ url: "http://127.0.0.1:3008", httpRules });
 */
export async function loadHttpRules(
  paths: readonly string[],
  services: readonly DescService[],
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<HttpRules> {
  assertArray("paths", paths, "an array of paths of YAML files");
  assertArray("services", services, "an array of services, such as [CoreService]");
  const { HTTP_RULES_FILE, readServiceConfig } = await loadServiceConfig();
  const methods = new Map(services.flatMap((service) => service.methods.map((method) => [selectorOf(method), method])));
  const rules = new Map<string, HttpRule>();
  const places = new Map<string, string>();
  for (const path of paths) {
    const bytes = await readBoundedFile(path, {
      maxBytes: MAX_RULES_BYTES,
      kind: "HTTP rules",
      advice: HTTP_RULES_FILE,
      signal,
    });
    readServiceConfig(bytes, { path, methods, rules, places });
  }
  return rules;
}

/**
 * Checks HTTP rules that a caller passed.
 *
 * @param rules the value of the option `httpRules`
 * @throws {@link RequestError} if they do not come from {@link loadHttpRules}
 */
export function assertHttpRules(rules: HttpRules): void {
  if (!(rules instanceof Map)) {
    throw invalidTypeError("httpRules", rules, "a result of loadHttpRules()");
  }
}

const loadServiceConfig = lazily(() => import("./service-config.js"));

/**
 * Replaces the HTTP rule of a method, if there is a replacement.
 *
 * @param method the method's descriptor, which stays unchanged
 * @param rules the rules by the full names of methods
 * @returns a copy with its rule; the descriptor itself if there is no rule for it
 */
export function replaceRule<M extends DescMethod>(method: M, rules: HttpRules): M {
  const rule = rules.get(selectorOf(method));
  return rule === undefined ? method : withHttpRule(method, rule);
}

/** Returns the full name of a method as selectors have it. */
function selectorOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}.${name}`;
}
