import { RequestError } from "./errors.js";
import { isError } from "./is-error.js";

/**
 * Make the error of a request that cannot be written: it lacks a required field, a value does not fit its field, or an
 * `Any` in it cannot be written as JSON.
 *
 * @param cause the error that was thrown while the request was written
 * @returns the error
 */
export function unwritable(cause: unknown): RequestError {
  const reason = (isError(cause) ? cause.message : String(cause))
    .replace(/^(?:\[\w+\] )?(?:serialize binary: )?/, "") // Connect's words in front.
    .replace(/ to (?:JSON|binary): /, ": "); // The same over every transport.
  return new RequestError(`the request cannot be written: ${reason}`, {
    advice: "Correct the value; for an Any in JSON, give the types that it may hold as registry. Nothing was sent.",
    cause,
  });
}
