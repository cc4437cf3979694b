import { parse } from "content-disposition";

/** Reads the file name from a response's headers. The server chooses it, so validate it before you use it. */
export function contentDispositionName(header: Headers): string | undefined {
  const disposition = header.get("content-disposition");
  return disposition === null ? undefined : parse(disposition).parameters["filename"];
}
