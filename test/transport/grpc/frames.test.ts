import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { withoutMessages } from "../../../src/transport/grpc/frames.js";
import { cutAt } from "../../support/archives.js";

const LARGEST = 100;

function frame(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

async function read(bytes: Buffer, cuts: readonly number[] = []) {
  const messages: string[] = [];
  const left: Buffer[] = [];
  let arrived = 0;
  const chunks = cutAt(bytes, cuts);
  async function* source() {
    yield* chunks;
  }
  const taking = {
    maxMessageBytes: LARGEST,
    arrived: () => {
      arrived += 1;
    },
    take: (message: Uint8Array) => messages.push(Buffer.from(message).toString("hex")),
  };
  let error: unknown;
  try {
    for await (const piece of withoutMessages(source(), taking)) {
      left.push(Buffer.from(piece));
    }
  } catch (reason) {
    error = reason;
  }
  return { messages, left: Buffer.concat(left), error, arrived, chunks: chunks.length };
}

const message = fc.uint8Array({ maxLength: LARGEST });
const cuts = fc.array(fc.nat(700), { maxLength: 12 });

describe("frames without their messages", () => {
  test("stand in the places of all messages, however they are cut", async () => {
    // Flags beside the first have no meaning.
    const property = fc.asyncProperty(fc.array(message, { maxLength: 6 }), cuts, async (list, places) => {
      const found = await read(Buffer.concat(list.map((each, index) => frame(each, index % 3 === 2 ? 2 : 0))), places);
      expect(found.messages).toEqual(list.map((each) => Buffer.from(each).toString("hex")));
      expect(found.left).toEqual(Buffer.concat(list.map(() => frame(Buffer.alloc(0)))));
      expect(found.error).toBeUndefined();
      expect(found.arrived).toBe(found.chunks);
    });
    await fc.assert(property);
  });

  test("are followed by the bytes as they are, from a message on that is compressed or too large", async () => {
    const refused = fc.oneof(
      message.map((each) => frame(each, 1)),
      fc.uint8Array({ minLength: LARGEST + 1, maxLength: 2 * LARGEST }).map((each) => frame(each)),
    );
    const property = fc.asyncProperty(fc.array(message, { maxLength: 3 }), refused, cuts, async (list, bad, places) => {
      const found = await read(Buffer.concat([...list.map((each) => frame(each)), bad]), places);
      expect(found.messages).toHaveLength(list.length);
      expect(found.left).toEqual(Buffer.concat([...list.map(() => frame(Buffer.alloc(0))), bad]));
    });
    await fc.assert(property);
  });

  test("fail where the bytes end inside a frame", async () => {
    const whole = frame(Buffer.from("abc"));
    for (let size = 1; size < whole.length; size += 1) {
      const { error, messages } = await read(Buffer.concat([whole, whole.subarray(0, size)]));
      expect(messages).toHaveLength(1);
      expect(error).toBeInstanceOf(ConnectError);
      expect(error).toMatchObject({ code: Code.DataLoss });
    }
  });
});
