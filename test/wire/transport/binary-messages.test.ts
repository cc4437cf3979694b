// Messages in Protobuf's binary form are read as protobuf-es reads them, whatever a sender writes.
import { type DescMethodUnary, type DescService, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { ProtocolError } from "tradewire";
import { CoreService, CoreStateService, TradingDataService } from "tradewire/api";
import { useAnsweringServer } from "../../support/answering-server.js";
import { compile, isUnary, serviceOf, unaryMethod } from "../../support/definitions.js";
import { randomWire } from "../../support/random-wire.js";
import { isFull } from "../../support/tier.js";

/** Every kind of field, in the three syntaxes, and the types that protobuf-es represents in a form of its own. */
const DEFINITIONS = {
  "every.proto": `
    syntax = "proto3";
    package every;
    import "google/protobuf/any.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    enum Color { NONE = 0; RED = 1; }
    message Every {
      bool a = 1; string b = 2; bytes c = 3; int32 d = 4; sint32 e = 5; sfixed32 f = 6; uint32 g = 7; fixed32 h = 8;
      int64 i = 9; sint64 j = 10; sfixed64 k = 11; uint64 l = 12; fixed64 m = 13; float n = 14; double o = 15; Color p = 16;
      optional int32 q = 17; optional string r = 18; optional Color s = 19; Every t = 20;
      oneof u { string v = 21; int64 w = 22; Every x = 23; Color y = 24; }
      repeated int32 aa = 31; repeated string bb = 32; repeated bytes cc = 33; repeated double dd = 34; repeated Color ee = 35;
      repeated Every ff = 36; repeated sint64 gg = 37; repeated bool hh = 38; repeated uint64 ii = 39 [packed = false]; repeated fixed32 jj = 40;
      map<string, string> aaa = 41; map<int32, Every> bbb = 42; map<bool, bytes> ccc = 43; map<uint64, Color> ddd = 44;
      map<sint64, double> eee = 45; google.protobuf.Value fff = 46; google.protobuf.Any ggg = 47;
      google.protobuf.Timestamp hhh = 3000;
    }
    message Answer { Every every = 1; }
    service Service { rpc Get(Every) returns (Answer); }`,
  "other.proto": `
    syntax = "proto3";
    package other;
    import "google/protobuf/struct.proto";
    import "google/protobuf/wrappers.proto";
    message Answer {
      google.protobuf.Struct a = 1; google.protobuf.StringValue b = 2; repeated google.protobuf.Int64Value c = 3;
      int64 d = 4 [jstype = JS_STRING]; repeated uint64 e = 5 [jstype = JS_STRING];
    }
    service Service { rpc Get(Answer) returns (Answer); }`,
  "old.proto": `
    syntax = "proto2";
    package old;
    enum Color { RED = 1; BLUE = 2; }
    message Answer {
      optional int32 a = 1 [default = 7]; optional Color b = 2; repeated Color c = 3; optional string d = 4;
      optional group Inner = 5 { optional int64 a = 1; } repeated group Others = 6 { optional string a = 1; }
    }
    service Service { rpc Get(Answer) returns (Answer); }`,
};

const received = useAnsweringServer("proto");
let defined: FileRegistry;
beforeAll(async () => {
  defined = await compile(DEFINITIONS);
});

/** Check that random answers are read as by protobuf-es. */
async function assertSame(methods: readonly DescMethodUnary[], numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...methods), fc.gen(), async (method, draw) => {
      const bytes = randomWire(method.output, draw);
      expect(await received(method, bytes)).toStrictEqual(fromBinary(method.output, Buffer.from(bytes)));
    }),
    { numRuns },
  );
}

test("the network's answers", async () => {
  const services: readonly DescService[] = [TradingDataService, CoreService, CoreStateService];
  await assertSame(services.flatMap(({ methods }) => methods).filter(isUnary), isFull() ? 20_000 : 1000);
});

test.each(["every", "other", "old"])("answers of the definitions %s", async (name) => {
  const method = unaryMethod(serviceOf(defined, `${name}.Service`), "Get");
  await assertSame([method], isFull() ? 10_000 : 500);
});

test("messages share no bytes", async () => {
  const method = unaryMethod(serviceOf(defined, "every.Service"), "Get");
  const every = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(new Uint8Array()).finish();
  const { c: bytes } = Object(await received(method, every)).every;
  structuredClone(bytes, { transfer: [bytes.buffer] });
  expect(structuredClone(await received(method, every))).toHaveProperty(["every", "c"], new Uint8Array());
});

describe("an answer that no sender writes", () => {
  const every = () => unaryMethod(serviceOf(defined, "every.Service"), "Get");
  const inside = (content: Uint8Array) => new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(content).finish();
  const field = (number: number, wireType: WireType) => new BinaryWriter().tag(number, wireType);
  const deep = (depth: number): Uint8Array =>
    depth === 0
      ? new Uint8Array()
      : field(20, WireType.LengthDelimited)
          .bytes(deep(depth - 1))
          .finish();

  test.each<[what: string, content: Uint8Array]>([
    [
      "text that is not UTF-8",
      field(2, WireType.LengthDelimited)
        .bytes(Buffer.from([0x61, 0xff]))
        .finish(),
    ],
    ["messages 100 deep", deep(100)],
    ["packed numbers of 4 bytes in 5", Buffer.from("c202050000000000" + "ba028600" + "12ffffffff0f", "hex")],
    ["packed numbers of 4 bytes in 5, at the end", Buffer.from("c202050000000000", "hex")],
    ["packed integers that end after their field", Buffer.from("fa010180", "hex")],
    ["a field of number 0", field(0, WireType.Varint).uint32(1).finish()],
    ["a tag of six bytes", Buffer.from([0xa0, 0x81, 0x80, 0x80, 0x80, 0x00, 0x01])],
    ["an integer of eleven bytes", Buffer.from([0x20, ...Buffer.alloc(10, 0xff), 0x01])],
  ])("is refused: %s", async (_, content) => {
    expect(() => fromBinary(every().output, inside(content))).toThrow();
    await expect(received(every(), inside(content))).rejects.toMatchObject({
      code: Code.Internal,
      cause: { constructor: ProtocolError, summary: expect.stringContaining("does not match its definition") },
    });
  });

  test("is read: messages 99 deep", async () => {
    expect(await received(every(), inside(deep(98)))).toStrictEqual(fromBinary(every().output, inside(deep(98))));
  });

  // protobuf-es sets the prototype of the map, and skips no field of an entry.
  test("is read: a map with the key __proto__, and an entry with a third field", async () => {
    const entry = field(1, WireType.LengthDelimited).string("__proto__").tag(3, WireType.Varint).uint32(9);
    const map = entry.tag(2, WireType.LengthDelimited).string("value").finish();
    const message = await received(every(), inside(field(41, WireType.LengthDelimited).bytes(map).finish()));
    expect(Reflect.get(Object(message), "every")).toHaveProperty(["aaa"], JSON.parse('{"__proto__":"value"}'));
  });

  // TextDecoder, which protobuf-es uses, removes it.
  test("is read whole: text that begins with U+FEFF", async () => {
    const message = await received(every(), inside(field(2, WireType.LengthDelimited).string("\uFEFFa").finish()));
    expect(message).toHaveProperty(["every", "b"], "\uFEFFa");
  });
});
