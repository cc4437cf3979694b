import { HEADERS_TOO_LARGE, responseError } from "../../../base/errors/call-errors.js";
import { MAX_HEADER_BYTES, MAX_HEADER_FIELDS } from "../../../base/errors/network-failure.js";
import { mediaTypeOf } from "../../json/http-body.js";

/** The limits of Node's HTTP. It silently omits fields over its own limit, so it has to let one more through. */
export const HEADER_LIMITS = { maxHeaderSize: MAX_HEADER_BYTES, maxHeadersCount: MAX_HEADER_FIELDS + 1 };

/** What a response says before its body. */
export interface ResponseHead {
  readonly status: number;
  readonly header: Headers;
  /** The media type of the body without its parameters, in lower case; empty if there is none. */
  readonly mediaType: string;
  /** The content encoding of the body, in lower case; `undefined` if there is none. */
  readonly encoding: string | undefined;
}

type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Reads the status and the fields of a response.
 *
 * @throws {@link ProtocolError} if there are more than 1000 fields
 */
export function headOf(status: number, fields: Fields): ResponseHead {
  const header = headersOf(fields);
  return {
    status,
    header,
    mediaType: mediaTypeOf(header),
    encoding: header.get("content-encoding")?.toLowerCase(),
  };
}

/**
 * Converts the fields of a response's header. Of several content types the first counts, as in Node's `headers`: behind its own, the
 * deployed gateway sends the one of the gRPC response.
 *
 * @throws {@link ProtocolError} if there are more than 1000 fields
 */
export function headersOf(fields: Fields): Headers {
  const header = new Headers();
  let count = 0;
  for (const name of Object.keys(fields)) {
    const value = fields[name] ?? [];
    if (typeof value === "string") {
      count += 1;
      header.append(name, value);
    } else {
      count += value.length;
      for (const each of name === "content-type" ? value.slice(0, 1) : value) {
        header.append(name, each);
      }
    }
  }
  if (count > MAX_HEADER_FIELDS) {
    throw responseError(HEADERS_TOO_LARGE);
  }
  return header;
}
