import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { RequestError } from "../../errors/index.js";
import { bytesOf } from "../input.js";
import type { CommandContext } from "../output.js";
import { type GivenRequest, MAX_REQUEST_BYTES, placeOf, requestOf } from "./read-request.js";

/** The requests of a call whose requests stream. */
export interface GivenRequests extends GivenRequest {
  /** Requests in Protobuf's JSON, that are sent first. */
  readonly data: readonly string[];
}

/**
 * Read the requests of a call that streams them.
 *
 * @param desc the requests' message
 * @param given the requests, and the argument: another one, or `@` and the path of a file, or `-` for standard input, with
 *   one on each line. Without any, one request is empty. The values of `--set` go into each
 * @param context the input stream, and the signal that ends the reading
 * @returns the requests; a file's, and standard input's, each once its line has come
 * @throws {@link RequestError} if one that was given as it is is not the JSON of that message; in a line, it is thrown
 *   among the requests
 */
export function readRequests<I extends DescMessage>(
  desc: I,
  { data, ...given }: GivenRequests,
  context: CommandContext,
): AsyncIterable<MessageShape<I>> {
  const { argument } = given;
  const place = placeOf(argument);
  const texts = [...data, ...(argument === undefined || place !== undefined ? [] : [argument])];
  if (place === undefined && texts.length === 0) {
    texts.push("{}");
  }
  const requests = texts.map((text, index) =>
    requestOf(desc, text, texts.length === 1 ? "the request" : `request ${index + 1}`, given),
  );
  return (async function* () {
    yield* requests;
    if (place === undefined) {
      return;
    }
    let number = 0;
    for await (const line of linesOf(bytesOf(place.path, context), place.source)) {
      number += 1;
      if (line.trim() !== "") {
        yield requestOf(desc, line, `line ${number} of ${place.source}`, given);
      }
    }
  })();
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let open = "";
  for await (const piece of bytes) {
    const [first = "", ...others] = decoder.decode(piece, { stream: true }).split("\n");
    open += first;
    for (const line of others) {
      yield open;
      open = line;
    }
    if (open.length > MAX_REQUEST_BYTES) {
      throw new RequestError(`a line of ${source} is longer than ${MAX_REQUEST_BYTES} bytes, the limit for a request`, {
        advice: "Put each request on a line of its own.",
      });
    }
  }
  yield open;
}
