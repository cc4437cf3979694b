import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import type { FailingCall } from "../errors/failing.js";
import { throwingOurErrors } from "./layers/our-errors.js";

/**
 * Make a client of a service, such as Connect's own, whose methods throw the library's errors.
 *
 * @param service the service's descriptor, as `protoc-gen-es` generates it
 * @param transport the transport that makes the calls
 * @param failing makes, for a call, the function that throws its failure as one of the library's errors
 * @returns a client with a function for each method of the service
 */
export function createServiceClient<S extends DescService>(
  service: S,
  transport: Transport,
  failing: FailingCall,
): Client<S> {
  return createClient(service, throwingOurErrors(transport, failing));
}
