import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { create, fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { BatchMarketInstructionsSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { InputDataSchema, TransactionSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { commandIdentifiers } from "../../../src/trade/transaction/command-identifiers.js";

interface Recorded {
  readonly chainId: string;
  readonly transactions: readonly { readonly name: string; readonly transaction: string }[];
  readonly stopOrders: readonly { readonly id: string; readonly direction: string; readonly trigger: string }[];
  readonly orders: readonly { readonly id: string; readonly price: string }[];
}

const recorded: Recorded = JSON.parse(
  readFileSync(new URL("../../network/recorded/vectors.json", import.meta.url), "utf8"),
);

/** The command of a recorded transaction, and the identifiers that are derived for it. */
function derived(name: string) {
  const hex = recorded.transactions.find((each) => each.name === name)?.transaction ?? "";
  const { inputData, signature } = fromBinary(TransactionSchema, Buffer.from(hex, "hex"));
  const { command } = fromBinary(InputDataSchema, inputData.subarray(inputData.indexOf(0) + 1));
  return { command, ids: commandIdentifiers(command, Buffer.from(signature?.value ?? "", "hex")) };
}

const stopOrderAt = (trigger: string) => recorded.stopOrders.find((each) => each.trigger === trigger)?.id;
const orderAt = (price: string) => recorded.orders.find((each) => each.price === price)?.id;

describe("commandIdentifiers", () => {
  it.each(["bid", "ask"])("gives the order of %s the identifier that the network gave it", (name) => {
    const { command, ids } = derived(name);
    const price = command.case === "orderSubmission" ? command.value.price : "";
    expect(ids.submissions).toEqual([orderAt(price)]);
    expect(ids.submissions[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("gives the half that falls below the first identifier of a pair", () => {
    const { ids } = derived("stop orders, a pair");
    expect(ids.stopOrders).toEqual([{ fallsBelow: stopOrderAt("2"), risesAbove: stopOrderAt("99999999998") }]);
  });

  it("gives a single stop order the first identifier", () => {
    const { ids } = derived("stop order that does not reduce the position");
    expect(ids.stopOrders).toEqual([{ fallsBelow: stopOrderAt("3") }]);
  });

  it("gives the first stop order of a batch the identifier of its last order", () => {
    const { ids } = derived("batch: two orders, a stop order");
    expect(ids.submissions).toEqual([orderAt("9000000000"), orderAt("9000000001")]);
    expect(ids.stopOrders).toEqual([{ fallsBelow: stopOrderAt("6") }]);
    expect(stopOrderAt("6")).toBe(orderAt("9000000001"));
  });

  it("goes on from there with a pair and one more", () => {
    const { ids } = derived("batch: an order, a pair, one more");
    expect(ids.submissions).toEqual([orderAt("9000000002")]);
    expect(ids.stopOrders).toEqual([
      { fallsBelow: stopOrderAt("7"), risesAbove: stopOrderAt("99999999997") },
      { risesAbove: stopOrderAt("99999999996") },
    ]);
  });

  // core/processor/batch_market_instructions_processor.go: `submissionsIDs[i+idIdx]`, and `idIdx++` within a pair.
  it("skips an identifier for a submission of stop orders without halves, and gives those that follow the batch's own", () => {
    const value = create(BatchMarketInstructionsSchema, { stopOrdersSubmission: [{}, { fallsBelow: {} }] });
    const ids = commandIdentifiers({ case: "batchMarketInstructions", value }, new Uint8Array(64));
    const chain = [new Uint8Array(64)];
    for (let index = 0; index < 5; index += 1) {
      chain.push(
        createHash("sha3-256")
          .update(chain[index] ?? "")
          .digest(),
      );
    }
    const hex = chain.slice(1).map((bytes) => Buffer.from(bytes).toString("hex"));
    expect(ids.stopOrders).toEqual([{}, { fallsBelow: hex[1] }]);
    expect(ids.next()).toBe(hex[4]);
  });
});
