import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { ProtocolError } from "../../errors/index.js";
import { findField } from "../../http-rule/fields.js";
import type { HttpBinding } from "../../http-rule/http-rule.js";
import { openEnvelope, readErrorObject } from "../../json/envelope.js";
import { isGoogleError } from "../../json/error-code.js";
import { httpBodyPiece, isHttpBody, messageFromJson } from "../../json/message.js";
import { jsonObjects, jsonValues } from "../../json/stream.js";
import { isJsonObject } from "../../json/values.js";
import { connectError } from "../bare-call.js";
import { errorFromObject } from "./error.js";
import { inField, isJson, type JsonReading, notJson, type RestResponse } from "./response.js";

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
    if (isJson(response.mediaType, reading.jsonAsText && !isHttpBody(desc))) {
      const results = reading.streams === "envelopes" ? envelopes : bareMessages;
      for await (const result of results(response, reading, desc, rule)) {
        yield messageFromJson(desc, inField(rule, result), reading.registry);
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

async function* envelopes({ body, header }: RestResponse, { maxBytes }: JsonReading): AsyncGenerator<JsonValue> {
  for await (const json of jsonObjects(body, maxBytes)) {
    const { result, error } = openEnvelope(json);
    if (error !== undefined) {
      throw errorFromObject(error, header);
    }
    yield result;
  }
}

async function* bareMessages(
  { body, header }: RestResponse,
  { maxBytes, streams }: JsonReading,
  desc: DescMessage,
  { responseBody }: HttpBinding,
): AsyncGenerator<JsonValue> {
  const field = findField(desc, responseBody);
  const type = responseBody === "" ? desc : field?.fieldKind === "message" ? field.message : undefined;
  // The fields of objects of free form are anyone's.
  const fields = type === undefined || hasCustomJsonRepresentation(type) ? undefined : type;
  const form = { array: streams === "array", anyValue: fields === undefined && field?.fieldKind !== "map" };
  for await (const json of jsonValues(body, form, maxBytes)) {
    const error = isJsonObject(json) ? errorIn(json, fields) : undefined;
    if (error !== undefined) {
      throw errorFromObject(readErrorObject(error), header);
    }
    yield json;
  }
}

/**
 * Find the error object in the place of a message: under `error`, or a bare one, where those names are none of the
 * message's fields. What could be a message is an error in Google's form alone, and where no field can hold that.
 */
function errorIn(json: JsonObject, type: DescMessage | undefined): JsonValue | undefined {
  const names = Object.keys(json);
  const { error, code, message } = json;
  if (names.length === 1 && error !== undefined && error !== null) {
    const field = type && findField(type, "error");
    const isSure = type !== undefined && field === undefined;
    const mayHold = field?.fieldKind === "map" || (field?.message && findField(field.message, "status")) !== undefined;
    return isSure || (!mayHold && isJsonObject(error) && isGoogleError(error)) ? error : undefined;
  }
  if (type === undefined || names.some((name) => findField(type, name) !== undefined)) {
    return undefined;
  }
  if (names.length === 1 && json["result"] !== undefined) {
    throw new ProtocolError('an object of the stream has "result" alone, which is no field of its message', {
      advice: 'The stream is one of envelopes: set streams to "envelopes".',
    });
  }
  return typeof code === "number" && typeof message === "string" ? json : undefined;
}
