import { parse } from "content-disposition";

/**
 * Read the name that a response gives to its body. It is the server's word: check it before a file gets it.
 *
 * @param header the response header
 * @returns the name in `content-disposition`, if there is one
 */
export function givenName(header: Headers): string | undefined {
  const given = header.get("content-disposition");
  return given === null ? undefined : parse(given).parameters["filename"];
}
