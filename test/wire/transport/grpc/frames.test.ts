import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Frame, FrameReader, writeFrame } from "../../../../src/wire/transport/grpc/frames.js";
import { cutAt } from "../../../support/archives.js";

const LARGEST = 100;

function frame(message: Uint8Array, flags = 0): Buffer {
  const bytes = Buffer.from(writeFrame({ isCompressed: false, bytes: message }));
  bytes.writeUInt8(flags);
  return bytes;
}

function read(bytes: Buffer, cuts: readonly number[] = []) {
  const messages: string[] = [];
  const reader = new FrameReader(LARGEST, () => false, { onFrame: (frame) => messages.push(textOf(frame)) });
  let error: unknown;
  try {
    for (const chunk of cutAt(bytes, cuts)) {
      reader.push(chunk);
    }
  } catch (reason) {
    error = reason;
  }
  return { messages, error, isInside: reader.isInside() };
}

const textOf = ({ isCompressed, bytes }: Frame) => `${isCompressed ? "compressed " : ""}${hex(bytes)}`;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const message = fc.uint8Array({ maxLength: LARGEST });
const cuts = fc.array(fc.nat(700), { maxLength: 12 });

describe("a reader of frames", () => {
  test("gives all messages, however they are cut", () => {
    // Flags beside the first have no meaning.
    const property = fc.property(fc.array(fc.tuple(message, fc.nat(3)), { maxLength: 6 }), cuts, (list, places) => {
      const bytes = Buffer.concat(list.map(([each, flags]) => frame(each, flags)));
      const messages = list.map(([each, flags]) => textOf({ isCompressed: flags % 2 === 1, bytes: each }));
      expect(read(bytes, places)).toEqual({ messages, error: undefined, isInside: false });
    });
    fc.assert(property);
  });

  test("refuses a message that is too large, behind those before it", () => {
    const tooLarge = fc.uint8Array({ minLength: LARGEST + 1, maxLength: 2 * LARGEST }).map((each) => frame(each));
    const property = fc.property(fc.array(message, { maxLength: 3 }), tooLarge, cuts, (list, bad, places) => {
      const { messages, error } = read(Buffer.concat([...list.map((each) => frame(each)), bad]), places);
      expect(messages).toEqual(list.map(hex));
      expect(error).toBeInstanceOf(ConnectError);
      const words = expect.stringContaining("larger than the limit");
      expect(error).toMatchObject({ code: Code.ResourceExhausted, message: words });
    });
    fc.assert(property);
  });

  test("knows that it is inside a frame", () => {
    const whole = frame(Buffer.from("abc"));
    for (let size = 1; size < whole.length; size += 1) {
      const { messages, isInside } = read(Buffer.concat([whole, whole.subarray(0, size)]));
      expect(messages).toHaveLength(1);
      expect(isInside).toBe(true);
    }
  });
});
