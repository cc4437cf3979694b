import { create } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import type { ErrorObject } from "../errors/index.js";
import { anyToObject } from "./any.js";
import { isJsonObject } from "./values.js";

/**
 * Turn an error that the node answered into its error object (specification, 7).
 *
 * @param error the error, as a Connect transport throws it
 * @returns the error object; a code that gRPC does not have becomes `Unknown`
 */
export function errorObject(error: ConnectError): ErrorObject {
  const details = error.details.map((detail) => {
    if ("desc" in detail) {
      return { "@type": `type.googleapis.com/${detail.desc.typeName}` };
    }
    const { type, value, debug } = detail;
    if (isJsonObject(debug) && typeof debug["@type"] === "string") {
      return { ...debug, "@type": debug["@type"] }; // It came as JSON.
    }
    return anyToObject(create(AnySchema, { typeUrl: `type.googleapis.com/${type}`, value }));
  });
  if (/^invalid grpc-status: /.test(error.rawMessage)) {
    return { code: Code.Unknown, message: decodeMessage(error.metadata.get("grpc-message") ?? ""), details };
  }
  // Connect accepts any number as the code in the details of gRPC's status.
  return { code: error.code in Code ? error.code : Code.Unknown, message: error.rawMessage, details };
}

/**
 * Decode the message of gRPC's trailers, which is percent-encoded.
 *
 * @param encoded the message, as it was sent
 * @returns the message; as it was sent where that is no percent-encoding
 */
export function decodeMessage(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
