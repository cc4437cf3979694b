import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { CommandError, type CommandInit, RequestError } from "tradewire";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { encodeInputData, hasUnknownCommand, readCommand } from "../../../src/trade/transaction/input-data.js";
import { stopOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const text = (value: string) => new TextEncoder().encode(value);
const LARGEST = 2n ** 64n - 1n;
const join: CommandInit = { case: "joinTeam", value: { id: "ab".repeat(32) } };

describe("a command", () => {
  test("is put into input data with the height, and with the nonce", () => {
    const bytes = encodeInputData(join, { blockHeight: LARGEST, nonce: LARGEST });
    expect(fromBinary(InputDataSchema, bytes)).toMatchObject({
      blockHeight: LARGEST,
      nonce: LARGEST,
      command: join,
    });
  });

  test("has a random nonce, which is not 0", () => {
    using runtime = useVirtualRuntime();
    const none = new Uint8Array(8);
    runtime.nextBytes(none, none, none.with(0, 7));
    expect(fromBinary(InputDataSchema, encodeInputData(join, { blockHeight: 5n }))).toMatchObject({ nonce: 7n });
  });

  test("that is wrong is refused, with all its problems", () => {
    expect(() => readCommand(stopOrder("0"))).toThrow(CommandError);
    expect(readCommand(stopOrder())).toMatchObject({ blockHeight: 0n, nonce: 0n });
  });

  test.each([0n, -1n, 2n ** 64n])("is not tied to height %d, and has no such nonce", (wrong) => {
    expect(() => encodeInputData(join, { blockHeight: wrong })).toThrow(
      `blockHeight must be a bigint from 1 to 2^64 - 1 (got ${wrong})`,
    );
    expect(() => encodeInputData(join, { blockHeight: 5n, nonce: wrong })).toThrow(
      `nonce must be a bigint from 1 to 2^64 - 1 (got ${wrong})`,
    );
  });

  test("is tied to a height that is a bigint", () => {
    const blockHeight: unknown = 5;
    expect(() => encodeInputData(join, { blockHeight: blockHeight as bigint })).toThrow(
      "blockHeight must be a bigint from 1 to 2^64 - 1 (got 5)",
    );
  });

  test.each([1n, LARGEST])("may have height and nonce %d", (right) => {
    const bytes = encodeInputData(join, { blockHeight: right, nonce: right });
    expect(fromBinary(InputDataSchema, bytes)).toMatchObject({ blockHeight: right, nonce: right });
  });
});

describe("raw input data", () => {
  const unknown = Uint8Array.of(0xc2, 0xb8, 2, 3, 1, 2, 3); // Field 5000, which this library does not know.

  test("of a command without a type gets a nonce and a height, and keeps its fields", () => {
    const bytes = encodeInputData({ inputData: unknown }, { blockHeight: 5n, nonce: 6n });
    expect(Buffer.from(bytes).toString("hex")).toBe("08061005c2b80203010203");
    const withNonce = Buffer.concat([Uint8Array.of(0x08, 9), unknown]);
    expect(encodeInputData({ inputData: withNonce }, { blockHeight: 5n }).subarray(0, 4)).toEqual(
      Uint8Array.of(8, 9, 16, 5),
    );
  });

  test("that is complete is signed as it is, in whatever order its fields are", () => {
    const complete = Buffer.concat([unknown, Uint8Array.of(0x10, 5, 0x08, 6)]);
    expect(encodeInputData({ inputData: complete }, { blockHeight: 5n })).toBe(complete);
    expect(() => encodeInputData({ inputData: complete }, { blockHeight: 6n })).toThrow(
      "inputData.blockHeight is 5, but the proof of work is for block 6",
    );
  });

  test("is checked where its command is known, and refused where it holds none", () => {
    const known = toBinary(
      InputDataSchema,
      create(InputDataSchema, { command: { case: "joinTeam", value: { id: "x" } } }),
    );
    expect(() => encodeInputData({ inputData: known }, { blockHeight: 5n })).toThrow(
      "joinTeam.id must be 64 hex digits",
    );
    const options = { blockHeight: 5n };
    expect(() => encodeInputData({ inputData: new Uint8Array() }, options)).toThrow("contains no command");
    expect(() => encodeInputData({ inputData: text("test-1\0") }, options)).toThrow(
      "inputData is not a serialized InputData",
    );
  });

  test("agrees with the options, or is refused", () => {
    const withNonce = Buffer.concat([Uint8Array.of(0x08, 9), unknown]);
    expect(encodeInputData({ inputData: withNonce }, { blockHeight: 5n, nonce: 9n }).subarray(0, 4)).toEqual(
      Uint8Array.of(8, 9, 16, 5),
    );
    expect(() => encodeInputData({ inputData: withNonce }, { blockHeight: 5n, nonce: 8n })).toThrow(
      "inputData.nonce is 9, but the option nonce is 8\nSet the nonce in one place only.",
    );
    const withHeight = Buffer.concat([Uint8Array.of(0x10, 5), unknown]);
    expect(encodeInputData({ inputData: withHeight }, { blockHeight: 5n, nonce: 6n }).subarray(0, 4)).toEqual(
      Uint8Array.of(8, 6, 16, 5),
    );
    expect(() => encodeInputData({ inputData: withHeight }, { blockHeight: 6n })).toThrow(
      "but the proof of work is for block 6\nOmit the height from the raw input data: it is set when the transaction is signed.",
    );
    const both = Buffer.concat([Uint8Array.of(0x08, 9, 0x10, 5), unknown]);
    expect(encodeInputData({ inputData: both }, { blockHeight: 5n, nonce: 9n })).toBe(both);
    expect(() => encodeInputData({ inputData: both }, { blockHeight: 5n, nonce: 0n })).toThrow(
      "but the option nonce is 0",
    );
  });

  test("holds a command that is not known where a field above 1000 is", () => {
    const field = (...tag: number[]) => fromBinary(InputDataSchema, Uint8Array.of(...tag, 1, 0));
    expect(hasUnknownCommand(field(0xc2, 0xb8, 2))).toBe(true); // Field 5000.
    expect(hasUnknownCommand(field(0xc2, 0x3e))).toBe(false); // Field 1000.
    expect(hasUnknownCommand(create(InputDataSchema))).toBe(false);
    expect(readCommand({ inputData: unknown })).toMatchObject({ command: { case: undefined } });
  });

  test("that cannot be used says what to give", () => {
    const given = (inputData: Uint8Array) => () => readCommand({ inputData });
    expect(given(new Uint8Array())).toThrow(RequestError);
    expect(given(new Uint8Array())).toThrow("the input data contains no command\nAdd one command.");
    expect(given(text("test-1\0"))).toThrow(
      "inputData is not a serialized InputData\nUse the binary form of the Protobuf message,",
    );
  });
});
