import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { ProtocolError } from "../../errors/index.js";
import { findField } from "../../http-rule/fields.js";
import type { HttpBinding } from "../../http-rule/http-rule.js";
import { openEnvelope } from "../../json/envelope.js";
import { httpBodyPiece, isHttpBody, messageFromJson } from "../../json/message.js";
import { sizeOf } from "../../json/message-size.js";
import { jsonObjects, jsonValues } from "../../json/stream.js";
import { isJsonObject } from "../../json/values.js";
import { connectError } from "../bare-call.js";
import { errorFromObject } from "./error.js";
import { bodyType, throwErrorIn } from "./error-in.js";
import { hasNoContent, inField, isJson, type JsonReading, notJson, type RestResponse } from "./response.js";

/**
 * Read the messages of a response that streams: JSON of the form that is configured, or the pieces of a raw body
 * (specification, 2.7 and 4.1).
 *
 * @param desc the messages' descriptor
 * @param rule the way that the method was called; it names the field that a result holds
 * @param response the response
 * @param reading how JSON is read, and the largest JSON object, in bytes
 * @returns the messages, each as soon as it is complete
 * @throws ConnectError for the node's error object; for an answer that breaks the rules, its cause is a
 *   {@link ProtocolError}
 */
export async function* responseMessages<O extends DescMessage>(
  desc: O,
  rule: HttpBinding,
  response: RestResponse,
  reading: JsonReading,
): AsyncGenerator<MessageShape<O>> {
  try {
    if (hasNoContent(response)) {
      return;
    }
    if (isJson(response.mediaType, reading.jsonAsText && !isHttpBody(desc))) {
      const results = reading.streams === "envelopes" ? envelopes : bareMessages;
      for await (const { result, size } of results(response, reading, desc, rule)) {
        yield messageFromJson(desc, inField(rule, result), reading.registry, size);
      }
    } else if (isHttpBody(desc)) {
      const contentType = response.header.get("content-type") ?? "";
      for await (const data of response.body) {
        yield httpBodyPiece(desc, contentType, data);
      }
    } else {
      throw await notJson(response);
    }
  } catch (reason) {
    throw connectError(reason);
  }
}

/** The JSON of a message, and the size of what it came in, in bytes. */
interface Result {
  readonly result: JsonValue;
  readonly size: number;
}

async function* envelopes({ body, header }: RestResponse, { maxBytes }: JsonReading): AsyncGenerator<Result> {
  for await (const json of jsonObjects(body, maxBytes)) {
    const { result, error } = openEnvelope(json);
    if (error !== undefined) {
      throw errorFromObject(error, header);
    }
    yield { result, size: sizeOf(json) };
  }
}

async function* bareMessages(
  { body, header }: RestResponse,
  { maxBytes, streams }: JsonReading,
  desc: DescMessage,
  rule: HttpBinding,
): AsyncGenerator<Result> {
  const type = bodyType(desc, rule);
  const isMap = findField(desc, rule.responseBody)?.fieldKind === "map";
  const form = { array: streams === "array", anyValue: type === undefined && !isMap };
  for await (const json of jsonValues(body, form, maxBytes)) {
    throwErrorIn(json, type, header);
    if (isJsonObject(json) && isEnvelope(json, type)) {
      throw new ProtocolError('an object of the stream has "result" alone, which is no field of its message', {
        advice: 'The stream is one of envelopes: set streams to "envelopes".',
      });
    }
    yield { result: json, size: sizeOf(json) };
  }
}

/** Whether an object has nothing but a result, where its message has no such field. */
function isEnvelope(json: JsonObject, type: DescMessage | undefined): boolean {
  const isAlone = Object.keys(json).length === 1 && json["result"] !== undefined;
  return isAlone && type !== undefined && findField(type, "result") === undefined;
}
