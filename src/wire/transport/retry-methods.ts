import type { DescService } from "@bufbuild/protobuf";
import { closestName } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { methodName, streamsRequests } from "./method.js";

/**
 * Checks the methods of `retry.methods` that belong to a service.
 *
 * @throws {@link RequestError} if the service lacks one of them, or if one streams its requests
 */
export function assertRetryMethods(names: readonly string[] = [], service: DescService): void {
  const methods = new Map(service.methods.map((method) => [methodName(method), method]));
  for (const name of names) {
    const method = methods.get(name);
    const isOfService = name.startsWith(`${service.typeName}/`);
    if (isOfService && method === undefined) {
      const near = closestName(name, [...methods.keys()]);
      const advice = near === undefined ? "Correct or remove the name." : `Did you mean ${near}?`;
      throw invalidMethod(`the unknown method ${name}`, advice);
    }
    if (method !== undefined && streamsRequests(method)) {
      throw invalidMethod(`${name}, which streams its requests`, "Remove it: streamed requests cannot be retried.");
    }
  }
}

function invalidMethod(what: string, advice: string): RequestError {
  const option = "retry.methods";
  return new RequestError(`names ${what}`, { option, advice, errorCode: "TW_CONFIGURATION" });
}
