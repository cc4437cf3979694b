import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";

/** Decodes a message in binary form; returns `undefined` if it is not one. */
export function tryDecode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> | undefined {
  try {
    return fromBinary(schema, bytes);
  } catch {
    return undefined;
  }
}

/** Parses JSON; returns `undefined` if the text is invalid, which no JSON means. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
