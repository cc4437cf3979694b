// Makes recorded calls with the client, and gives what they come to in the form of the recordings.
import { type DescMethodUnary, fromJson, type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import { type Client, NodeError } from "tradewire";
import { methodNamed, type RecordedCall, type RecordedError, type RecordedResult } from "./recorded.js";

/**
 * Makes a recorded call.
 *
 * @throws what is not an answer of the node
 */
export async function askAgain(client: Client, call: RecordedCall): Promise<RecordedResult> {
  const method = methodNamed(call.method);
  const request = fromJson(method.input, call.request);
  try {
    const answer = await unary(client, method, request);
    return { answer: objectOf(toJson(method.output, answer, { alwaysEmitImplicit: true })) };
  } catch (error) {
    if (error instanceof NodeError) {
      return { error: recordedError(error) };
    }
    throw error;
  }
}

async function unary(client: Client, method: DescMethodUnary, request: Message): Promise<Message> {
  const answer = await client.transport.unary(method, undefined, undefined, undefined, request).catch((error) => {
    throw error instanceof Error && error.cause instanceof NodeError ? error.cause : error;
  });
  return answer.message;
}

function objectOf(json: unknown): JsonObject {
  return JSON.parse(JSON.stringify(json));
}

/** The error of a node in the form of the recordings. */
function recordedError({ object: { code, message, details } }: NodeError): RecordedError {
  const own = details.filter((detail) => detail["@type"].endsWith("/vega.ErrorDetail"));
  const shown = own.map((detail) => ({
    code: Number(detail["code"] ?? 0),
    message: String(detail["message"] ?? ""),
    inner: String(detail["inner"] ?? ""),
  }));
  return { code, message, ...(shown.length === 0 ? {} : { details: shown }) };
}
