import * as v from "valibot";
import { Code } from "../../base/errors/code.js";
import type { ErrorCode } from "../../base/errors/error-codes.js";
import { MAX_MESSAGE, truncate } from "../../base/errors/error-text.js";
import {
  CommandError,
  ConnectionError,
  FileError,
  PolicyError,
  RequestError,
  TradewireError,
} from "../../base/errors/index.js";
import { jsonObject } from "../../base/input/schemas.js";

/** Maximum number of characters of each text of an error, and of its problems. */
const MAX_TEXT = MAX_MESSAGE;
const MAX_PROBLEMS = 100;

const text = v.pipe(v.string(), v.maxLength(MAX_TEXT + 1));

/** An error as JSON: the arguments to create it again. */
export const errorSchema = jsonObject({
  name: text,
  code: v.enum(Code),
  headline: text,
  advice: text,
  /** The signer may be of a newer release, which has additional codes. */
  errorCode: v.custom<ErrorCode>((code) => typeof code === "string" && /^TW_[A-Z_]{1,60}$/.test(code)),
  policy: v.optional(jsonObject({ rule: text, limit: text, value: text, command: v.optional(text) })),
  problems: v.optional(v.pipe(v.array(jsonObject({ path: text, message: text })), v.maxLength(MAX_PROBLEMS))),
});

/** See {@link errorSchema}. */
export type ErrorJson = v.InferOutput<typeof errorSchema>;

const limited = (value: string) => truncate(value, MAX_TEXT);

/** Converts an error to JSON. The cause is omitted, and so are properties that no error of the library has. */
export function errorToJson(reason: unknown): ErrorJson {
  if (!(reason instanceof TradewireError)) {
    return {
      name: "Error",
      code: Code.Internal,
      headline: "the signer failed",
      advice: "Nothing was signed. Check the log of the signer process.",
      errorCode: "TW_SIGNER_FAILED",
    };
  }
  return {
    name: reason.name,
    code: reason.code,
    headline: limited(reason.summary),
    advice: limited(reason.advice),
    errorCode: reason.errorCode,
    ...(reason instanceof PolicyError && { policy: policyFields(reason) }),
    ...(reason instanceof CommandError && {
      problems: reason.problems
        .slice(0, MAX_PROBLEMS)
        .map(({ path, message }) => ({ path: limited(path), message: limited(message) })),
    }),
  };
}

function policyFields({ rule, limit, value, command }: PolicyError): NonNullable<ErrorJson["policy"]> {
  const fields = { rule: limited(rule), limit: limited(limit), value: limited(value) };
  return command === undefined ? fields : { ...fields, command: limited(command) };
}

export function errorFromJson(json: ErrorJson): TradewireError {
  const { name, code, headline, advice, errorCode, problems, policy } = json;
  if (name === "CommandError" && problems !== undefined) {
    return new CommandError(problems);
  }
  if (policy !== undefined) {
    return new PolicyError({ ...policy, headline, advice });
  }
  if (name === "RequestError") {
    return new RequestError(headline, { advice, errorCode });
  }
  if (name === "FileError") {
    return new FileError(headline, { code, advice, errorCode });
  }
  return new ConnectionError(headline, { code, advice, errorCode, connected: false });
}
