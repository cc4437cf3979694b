// What came of one call, in the form of the recordings.
import { toJson } from "@bufbuild/protobuf";
import { NodeError } from "tradewire";

/** The type of the details that the network's errors carry. */
const ERROR_DETAIL = /\/vega\.ErrorDetail$/;

/** Make a unary call. */
export async function ask(client, method, request, options) {
  try {
    const answer = await client.service(method.parent)[method.localName](request, options);
    return { answer: toJson(method.output, answer, { alwaysEmitImplicit: true }) };
  } catch (error) {
    if (!(error instanceof NodeError)) {
      throw error;
    }
    return { error: errorOf(error) };
  }
}

/** The error of a node, as recorded. */
export function errorOf({ object: { code, message, details } }) {
  const known = details.filter((detail) => ERROR_DETAIL.test(detail["@type"]));
  const shown = known.map(({ code: own = 0, message: text = "", inner = "" }) => ({ code: own, message: text, inner }));
  return { code, message, ...(shown.length === 0 ? {} : { details: shown }) };
}

/** The name of a method in the recordings. */
export const nameOf = (method) => `${method.parent.typeName}/${method.name}`;
