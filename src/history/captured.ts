import type { JsonObject } from "@bufbuild/protobuf";
import type { HttpBody } from "../../gen/client/google/api/httpbody_pb.js";
import { requireIterable } from "../errors/check-kinds.js";
import { requireKnown } from "../errors/check-values.js";
import { NodeError } from "../errors/index.js";
import { httpBodyFromJson, openEnvelope } from "../json/envelope.js";
import { jsonObjects } from "../json/stream.js";
import { type ExportChunk, exportChunks } from "./chunks.js";

const BODY_FIELDS = new Set(["contentType", "data", "extensions"]);

/**
 * Read the chunks of an export that was captured as JSON, for {@link assemble}. The capture holds envelopes
 * `{"result": ...}` and `{"error": ...}` (specification, 2.7), as a gateway sends them, or the bare `HttpBody` objects
 * that `grpcurl` prints. An object may span several lines, and white space between objects is optional.
 *
 * @param source the bytes of the capture, UTF-8, split anywhere
 * @param options `maxBytes` is the size of the largest object that is read, 64 MiB by default
 * @returns the chunks; an error is the last one
 * @throws {@link ProtocolError} where the capture holds anything else, is cut short inside an object, or an object is
 *   too large
 *
 * @example
 * for await (const { data } of assemble(capturedChunks(process.stdin), { extensions: "optional" })) file.write(data);
 */
export function capturedChunks(
  source: AsyncIterable<Uint8Array>,
  options: { readonly maxBytes?: number } = {},
): AsyncGenerator<ExportChunk> {
  requireIterable("the source", source, "Give the bytes of the capture, such as process.stdin.");
  requireKnown("options", options, { maxBytes: true });
  const { maxBytes = 64 * 1024 * 1024 } = options;
  return exportChunks(bodies(source, maxBytes));
}

async function* bodies(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<HttpBody> {
  for await (const object of jsonObjects(source, maxBytes)) {
    if (isBody(object)) {
      yield httpBodyFromJson(object);
      continue;
    }
    const { result, error } = openEnvelope(object);
    if (error !== undefined) {
      throw new NodeError(error);
    }
    yield httpBodyFromJson(result);
  }
}

/** Whether an object is a bare body. Fields with default values may be left out, so it may have none. */
function isBody(object: JsonObject): boolean {
  return Object.keys(object).every((name) => BODY_FIELDS.has(name));
}
