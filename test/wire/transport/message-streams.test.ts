import { describe, expect, it } from "@jest/globals";
import { awaitFirstMessage, replayable } from "../../../src/wire/transport/message-streams.js";
import { broken, memoryTransport, open, reasonOf, text, texts } from "../../support/memory-transport.js";

describe("a stream whose first message is waited for", () => {
  it("has all its messages, in their order", async () => {
    const response = await awaitFirstMessage(await open(memoryTransport(() => texts("a", "b", "c"))));
    const values: string[] = [];
    for await (const { value } of response.message) {
      values.push(value);
    }
    expect(values).toEqual(["a", "b", "c"]);
    expect(response).toMatchObject({ stream: true, method: { name: "Watch" } });
  });

  it("may have none", async () => {
    const response = await awaitFirstMessage(await open(memoryTransport(() => texts())));
    const iterator = response.message[Symbol.asyncIterator]();
    expect(await iterator.next()).toMatchObject({ done: true });
    expect(await iterator.next()).toMatchObject({ done: true });
  });

  it("fails at once where it fails before", async () => {
    const reason = new Error("gone");
    expect(await reasonOf(open(memoryTransport(() => broken(reason))).then(awaitFirstMessage))).toBe(reason);
  });

  it("fails behind the messages where it fails later", async () => {
    const reason = new Error("gone");
    const { message } = await awaitFirstMessage(await open(memoryTransport(() => broken(reason, "a", "b"))));
    const iterator = message[Symbol.asyncIterator]();
    expect(await iterator.next()).toMatchObject({ value: { value: "a" } });
    expect(await iterator.next()).toMatchObject({ value: { value: "b" } });
    expect(await reasonOf(iterator.next())).toBe(reason);
  });

  it("stops its source where the reader stops early", async () => {
    let stopped = 0;
    async function* endless() {
      try {
        for (;;) {
          yield text("a");
        }
      } finally {
        stopped += 1;
      }
    }
    const { message } = await awaitFirstMessage(await open(memoryTransport(() => ({ messages: endless() }))));
    for await (const _ of message) {
      break;
    }
    expect(stopped).toBe(1);
  });

  it("ends for a reader that stops, whether or not its source can be stopped", async () => {
    const response = await open(memoryTransport(() => texts("a", "b")));
    const iterator = response.message[Symbol.asyncIterator]();
    const unstoppable = { ...response, message: { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) } };
    const { message } = await awaitFirstMessage(unstoppable);
    expect(await message[Symbol.asyncIterator]().return?.("end")).toEqual({ done: true, value: "end" });
  });
});

it("a request can be sent again, from its start", async () => {
  async function* once() {
    yield 1;
    yield 2;
  }
  const again = await replayable(once());
  for (let time = 0; time < 3; time += 1) {
    const values: number[] = [];
    for await (const value of again()) {
      values.push(value);
    }
    expect(values).toEqual([1, 2]);
  }
});
