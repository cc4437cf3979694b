import { create } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type HttpBody, HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import { INVALID_RESPONSE } from "../../base/errors/call-errors.js";
import { CallError } from "./call-failure.js";

/** The bodies that continue the data of the body before, so that they are no chunks of their own. */
const continuations = new WeakSet<object>();

/** Returns whether a body continues the data of the one before it: its node sent them as one message. */
export function isContinuation(body: HttpBody): boolean {
  return continuations.has(body);
}

/** What is known of the message whose parts arrive. */
type State =
  | { readonly kind: "between messages" }
  /** `left` bytes of the data have not arrived; `rest` holds the fields behind the data. */
  | { readonly kind: "in data"; readonly left: number; readonly rest: readonly Uint8Array[] }
  /** The message does not begin with its type and its data, so that its parts are read as a whole. */
  | { readonly kind: "gathering"; readonly parts: readonly Uint8Array[] };

const BETWEEN: State = { kind: "between messages" };

/**
 * Reads messages of `google.api.HttpBody` whose parts arrive: each part of the data becomes a body of its own, so that a large
 * message does not have to be in memory at once. The first has the type, and the last one the extensions.
 */
export class BodyParts {
  private readonly decode: (message: Uint8Array) => HttpBody;
  private state: State = BETWEEN;

  constructor(decode: (message: Uint8Array) => HttpBody) {
    this.decode = decode;
  }

  /** Returns whether more parts of a message are to come. */
  isInside(): boolean {
    return this.state.kind !== "between messages";
  }

  /**
   * Reads a part of a message, after which `left` bytes follow. Returns `undefined` if it is read with the next parts.
   *
   * @throws `CallError` if the message is no `google.api.HttpBody`, or has several contents
   */
  read(part: Uint8Array, left: number): HttpBody | undefined {
    const { state } = this;
    switch (state.kind) {
      case "between messages": {
        const found = findData(part, left);
        if (found === undefined) {
          this.state = { kind: "gathering", parts: [part] };
          return undefined;
        }
        const body = this.parse([part.subarray(0, found.tagStart)]);
        return this.readData(body, part.subarray(found.start), found.length, [], left);
      }
      case "in data": {
        const body = create(HttpBodySchema);
        continuations.add(body);
        return this.readData(body, part, state.left, state.rest, left);
      }
      case "gathering": {
        const parts = [...state.parts, part];
        this.state = left > 0 ? { kind: "gathering", parts } : BETWEEN;
        return left > 0 ? undefined : this.parse(parts);
      }
    }
  }

  /** Gives a body the data in a part, and at the end of the message what follows the data. */
  private readData(body: HttpBody, part: Uint8Array, size: number, earlier: readonly Uint8Array[], left: number) {
    body.data = part.subarray(0, size);
    const rest = part.length > size ? [...earlier, part.subarray(size)] : earlier;
    if (left > 0) {
      this.state = { kind: "in data", left: size - body.data.length, rest };
      return body;
    }
    this.state = BETWEEN;
    if (rest.length === 0) {
      return body;
    }
    const last = this.parse(rest);
    if (last.data.length > 0) {
      const message = `a message is not a ${HttpBodySchema.typeName}: it has several contents`;
      throw new CallError({ kind: "broken answer", answer: INVALID_RESPONSE }, { message });
    }
    body.contentType = last.contentType || body.contentType;
    body.extensions = last.extensions;
    return body;
  }

  private parse(parts: readonly Uint8Array[]): HttpBody {
    return this.decode(Buffer.concat(parts));
  }
}

/** Finds the data of a body in the first part of its message, if nothing but its type is before. */
function findData(part: Uint8Array, left: number) {
  const reader = new BinaryReader(part);
  try {
    for (;;) {
      const tagStart = reader.pos;
      const [number, wireType] = reader.tag();
      if (number === HttpBodySchema.field.data.number && wireType === WireType.LengthDelimited) {
        const length = reader.uint32();
        const isInside = reader.pos + length <= part.length + left;
        return isInside ? { tagStart, start: reader.pos, length } : undefined;
      }
      if (number !== HttpBodySchema.field.contentType.number) {
        return undefined;
      }
      reader.skip(wireType, number);
    }
  } catch {
    return undefined; // It is read as a whole, which says what is wrong.
  }
}
