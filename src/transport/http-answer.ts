import type { HttpAnswer } from "../errors/index.js";

/** The most of a redirect's target that is quoted, in characters. */
const MAX_LOCATION = 200;

const answers = new WeakMap<object, HttpAnswer>();

/**
 * Keep with an error the response that it was made of.
 *
 * @param error the error
 * @param http the response
 * @returns `error`
 */
export function withHttp<E extends Error>(error: E, http: HttpAnswer): E {
  answers.set(error, http);
  return error;
}

/**
 * Find the response that an error was made of.
 *
 * @param reason the error that was thrown
 * @returns the response; undefined where {@link withHttp} has kept none
 */
export function httpOf(reason: unknown): HttpAnswer | undefined {
  return typeof reason === "object" && reason !== null ? answers.get(reason) : undefined;
}

/**
 * Describe a response, for the message of an error.
 *
 * @param http the response
 * @returns the text, such as `HTTP 302, a redirect to "/login", which is not followed`
 */
export function httpText({ status, location }: HttpAnswer): string {
  const redirect =
    location === null
      ? ""
      : `, a redirect to ${JSON.stringify(location.slice(0, MAX_LOCATION))}, which is not followed`;
  return `HTTP ${status}${redirect}`;
}
