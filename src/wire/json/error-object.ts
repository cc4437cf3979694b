import { create, type Registry } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { Code } from "../../base/errors/code.js";
import type { ErrorObject } from "../../base/errors/index.js";
import { anyFromObject, anyToObject } from "./any.js";
import { isJsonObject } from "./json-values.js";

export function toErrorObject(error: ConnectError, registry?: Registry): ErrorObject {
  const details = error.details.map((detail) => {
    if ("desc" in detail) {
      return { "@type": `type.googleapis.com/${detail.desc.typeName}` };
    }
    const { type, value, debug } = detail;
    if (isJsonObject(debug) && typeof debug["@type"] === "string") {
      return anyToObject(anyFromObject({ ...debug, "@type": debug["@type"] }, registry), registry); // It was received as JSON.
    }
    return anyToObject(create(AnySchema, { typeUrl: `type.googleapis.com/${type}`, value }), registry);
  });
  if (/^invalid grpc-status: /.test(error.rawMessage)) {
    return { code: Code.Unknown, message: decodeMessage(error.metadata.get("grpc-message") ?? ""), details };
  }
  // Connect accepts any number as the code in the details of gRPC's status.
  return { code: error.code in Code ? error.code : Code.Unknown, message: error.rawMessage, details };
}

export function decodeMessage(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
