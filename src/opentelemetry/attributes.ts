import type { Attributes } from "@opentelemetry/api";
import type { TradewireError } from "../errors/index.js";
import type { CallEnd, CallInfo } from "../transport/hooks.js";

/** The version of HTTP that each of our transports speaks. */
const httpVersions: Readonly<Record<string, string>> = { grpc: "2", "grpc-js": "2", rest: "1.1" };

/**
 * The attributes of a call by its beginning, for samplers.
 *
 * @param call the call
 * @returns the attributes
 */
export function startAttributes({ method, transport }: CallInfo): Attributes {
  return { "rpc.system.name": "grpc", "rpc.method": method, "tradewire.transport": transport };
}

/**
 * The attributes of a call that has ended, for its span and for metrics.
 *
 * @param call the call
 * @param end its end
 * @returns the attributes; few values of each are possible
 */
export function endAttributes(call: CallInfo, { error, sentTo }: CallEnd): Attributes {
  const transport = sentTo?.transport ?? error?.transport ?? call.transport;
  const version = httpVersions[transport];
  return {
    ...startAttributes({ ...call, transport }),
    "rpc.response.status_code": error === undefined ? "OK" : error.toJSON().code,
    ...(error !== undefined && !isCanceled(error) && { "error.type": errorType(error) }),
    ...(sentTo && serverAttributes(sentTo.url)),
    ...(version !== undefined && { "network.protocol.name": "http", "network.protocol.version": version }),
  };
}

/**
 * Name the kind of a failure: the code where the node has told it, else the class of the error.
 *
 * @param error the failure
 * @returns the name
 */
export function errorType(error: TradewireError): string {
  return error.name === "NodeError" ? error.toJSON().code : error.name;
}

/**
 * Tell whether the caller has ended the call, which is no error of the call.
 *
 * @param error the call's failure
 * @returns whether its signal was aborted, or its stream was left
 */
export function isCanceled(error: TradewireError): boolean {
  return error.name === "CanceledError"; // The class would bring more of the library with it.
}

function serverAttributes(text: string): Attributes {
  const { hostname, port, protocol } = new URL(text);
  return {
    "server.address": hostname.replace(/^\[(.*)\]$/, "$1"),
    "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
  };
}
