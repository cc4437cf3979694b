import { create } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { EndBlockSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { account, blockAt } from "../living-world.js";
import { createWorld, type Event } from "./inside.js";
import { ACTIVE, FILLED, history, orderEvent } from "./small-world.js";

const [first, second] = ["a1".repeat(32), "b2".repeat(32)];
const balance = (number: number, amount: string): Event => ({
  case: "account",
  value: { ...account(number), balance: amount },
});

/** The stored events of a transaction. */
function eventsOf({ world }: ReturnType<typeof createWorld>, hash: string) {
  const found = world.transactions.find(hash);
  return found === "dropped" ? undefined : found;
}

/** Makes a block of the events of several transactions. */
function makeBlock({ begin, apply, world }: ReturnType<typeof createWorld>, ...events: readonly [string, Event][]) {
  const block = blockAt(world.block.height + 1n);
  begin(block);
  const end: Event = { case: "endBlock", value: create(EndBlockSchema, { height: block.height }) };
  for (const [at, [txHash, event]] of [...events, [block.hash, end] as const].entries()) {
    apply({ block, sequence: at + 1, txHash, event });
  }
}

// `balances` has a row for each account and block, `orders` one for each version of an order and block (v0.78.0, `OrderKey` in
// datanode/entities/order.go).
test("a record in a block belongs to the transaction that changed it last", () => {
  const living = createWorld(history());
  makeBlock(
    living,
    [first, balance(1, "10")],
    [first, balance(7, "20")],
    [first, orderEvent(3, ACTIVE)],
    [second, balance(7, "5")],
    [second, orderEvent(3, FILLED)],
  );
  const [before, after] = [eventsOf(living, first), eventsOf(living, second)];
  expect(before?.events).toEqual([balance(1, "10")]);
  expect(after?.events).toEqual([balance(7, "5"), orderEvent(3, FILLED)]);
  // Account 1 is of the history; account 7 was opened by the transaction that named it first.
  expect([before?.opened, after?.opened]).toEqual([[{ ...account(7), balance: "20" }], []]);
});

test("what a transaction brought is dropped with the state that is taken back", () => {
  const living = createWorld(history());
  makeBlock(living, [first, balance(7, "20")]);
  const saved = living.save();
  makeBlock(living, [second, balance(7, "21")]);
  living.restore(saved);
  expect(living.world.transactions.find(second)).toBeUndefined();
  expect(eventsOf(living, first)?.events).toEqual([balance(7, "20")]);
});

test("a transaction that may have been dropped is told from one that there never was", () => {
  const living = createWorld(history());
  makeBlock(living, [first, orderEvent(3, ACTIVE)]);
  expect(living.world.transactions.find(second)).toBeUndefined();
  makeBlock(
    living,
    ...Array.from({ length: 100_000 }, (_, at): [string, Event] => [second, orderEvent(4 + at, ACTIVE)]),
  );
  expect(living.world.transactions.find(first)).toBe("dropped");
  expect(eventsOf(living, second)?.events).toHaveLength(100_000);
});
