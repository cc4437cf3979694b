import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { findField } from "../../http-rule/fields.js";
import type { HttpBinding } from "../../http-rule/http-rule.js";
import { readErrorObject } from "../../json/envelope.js";
import { isGoogleError } from "../../json/error-code.js";
import { isJsonObject } from "../../json/values.js";
import { errorFromObject } from "./error.js";

/**
 * Find the message that a body holds.
 *
 * @param desc the descriptor of the method's answer
 * @param rule the way that the method was called; it names the field that a body holds
 * @returns the descriptor; `undefined` where the body holds something else, or an object of free form, whose fields are
 *   anyone's
 */
export function bodyType(desc: DescMessage, { responseBody }: HttpBinding): DescMessage | undefined {
  const field = findField(desc, responseBody);
  const type = responseBody === "" ? desc : field?.fieldKind === "message" ? field.message : undefined;
  return type === undefined || hasCustomJsonRepresentation(type) ? undefined : type;
}

/**
 * Throw the error object that stands in the place of a message. A status that tells of success must not make an empty
 * message of it.
 *
 * @param json what came
 * @param type the message's descriptor, as {@link bodyType} gives it
 * @param header the headers of the response
 * @throws ConnectError where it is an error object
 */
export function throwErrorIn(json: JsonValue, type: DescMessage | undefined, header: Headers): void {
  const error = isJsonObject(json) ? errorIn(json, type) : undefined;
  if (error !== undefined) {
    throw errorFromObject(readErrorObject(error), header);
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
  return typeof code === "number" && typeof message === "string" ? json : undefined;
}
