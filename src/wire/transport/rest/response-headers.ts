import { HEADERS_TOO_LARGE, responseError } from "../../../base/errors/call-errors.js";
import { MAX_HEADER_BYTES, MAX_HEADER_FIELDS } from "../../../base/errors/network-failure.js";

/** The limits of Node's HTTP. It silently omits fields over its own limit, so it has to let one more through. */
export const HEADER_LIMITS = { maxHeaderSize: MAX_HEADER_BYTES, maxHeadersCount: MAX_HEADER_FIELDS + 1 };

/**
 * Converts the fields of a response's header. Of several content types the first counts, as in Node's `headers`: behind its own, the
 * deployed gateway sends the one of the gRPC response.
 *
 * @throws {@link ProtocolError} if there are more than 1000 fields
 */
export function headersOf(fields: Readonly<Record<string, string | readonly string[] | undefined>>): Headers {
  const header = new Headers();
  let count = 0;
  for (const [name, values = []] of Object.entries(fields)) {
    for (const value of typeof values === "string" ? [values] : values) {
      count += 1;
      if (name !== "content-type" || !header.has(name)) {
        header.append(name, value);
      }
    }
  }
  if (count > MAX_HEADER_FIELDS) {
    throw responseError(HEADERS_TOO_LARGE);
  }
  return header;
}
