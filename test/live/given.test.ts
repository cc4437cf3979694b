import { describe, expect, it } from "@jest/globals";
import { createClient, RequestError, signerFromSeed } from "tradewire";
import { taken } from "../support/taken.js";

/** No node is needed: what is wrong is said before one is called. Port 1 refuses. */
const client = createClient({ grpc: { url: "http://127.0.0.1:1" } });
const signer = signerFromSeed("01".repeat(32));
const HASH = "ab".repeat(32);
const cancellation = { case: "stopOrdersCancellation", value: {} };

/** Call a method as plain JavaScript does, and get the first line of its error. */
async function saidOf(method: "events" | "transactionResults" | "follow", ...given: unknown[]): Promise<string>;
async function saidOf(method: "outcome" | "sendCommand" | "submitTransaction", ...given: unknown[]): Promise<string>;
async function saidOf(method: keyof typeof client, ...given: unknown[]): Promise<string> {
  try {
    const called: unknown = Reflect.apply(Object(client[method]), client, given);
    if (called instanceof Promise) {
      await called;
    } else {
      const { error } = await taken(Object(called));
      return `not at once: ${String(error)}`;
    }
    return "nothing";
  } catch (reason) {
    return reason instanceof RequestError ? reason.summary : `no RequestError: ${String(reason)}`;
  }
}

describe("what plain JavaScript gives by mistake", () => {
  it.each([
    [[null], "the request is null"],
    [["order"], "the request is a text"],
    [[["order"]], "the request is a list"],
    [[{ type: ["order"] }], 'the request has "type", which it does not know'],
    [[{}, null], "the options are null"],
    [[{}, { reconect: true }], 'the options have "reconect", which they do not know'],
    [[{}, { reconnect: "yes" }], 'reconnect is "yes"'],
    [[{}, { signal: {} }], "signal is an object"],
    [[{ types: ["order"], lifecycle: "yes" }], 'lifecycle is "yes"'],
    [[{ lifecycle: 1 }], "lifecycle is 1"],
    [[{ partyId: [HASH] }], `partyId must be 64 hex digits (got "${HASH}")`],
  ])("is named by the events: %j", async (given, said) => {
    expect(await saidOf("events", ...given)).toBe(said);
  });

  it.each([
    [[null], "the request is null"],
    [[{ partyId: HASH }], 'the request has "partyId", which it does not know'],
    [[{ hashes: HASH }], `hashes is "${HASH}"`],
    [[{}, { signal: 5 }], "signal is 5"],
  ])("is named by the results: %j", async (given, said) => {
    expect(await saidOf("transactionResults", ...given)).toBe(said);
  });

  it.each([
    [[], "the request is undefined"],
    [["trades"], "the request is a text"],
    [[{ table: "trades", from: 5 }], 'the request has "from", which it does not know'],
    [[{ table: "trades", cursor: "x" }], 'the request has "cursor", which it does not know'],
    [[{ table: "trades" }, null], "the options are null"],
    [[{ table: "trades" }, { poll: 5 }], 'the options have "poll", which they do not know'],
    [[{ table: "trades" }, { extensions: "no" }], 'extensions is "no"'],
  ])("is named by a follow: %j", async (given, said) => {
    expect(await saidOf("follow", ...given)).toBe(said);
  });

  it.each([
    [[], "undefined is not the hash of a transaction"],
    [[{ txHash: HASH }], "an object is not the hash of a transaction"],
    [[HASH, null], "the options are null"],
    [[HASH, 500], "the options are a number"],
    [[HASH, { timeout: 500 }], 'the options have "timeout", which they do not know'],
    [[HASH, { signal: 5 }], "signal is 5"],
  ])("is named by the outcome: %j", async (given, said) => {
    expect(await saidOf("outcome", ...given)).toBe(said);
  });

  it.each([undefined, "executed"])("is named before anything is sent, until %s", async (until) => {
    const said = (command: unknown, options: object) => saidOf("sendCommand", command, { until, ...options });
    expect(await said(null, { signer })).toBe("the command is null");
    expect(await said({ case: "orderCancellation" }, { signer })).toBe("orderCancellation is undefined");
    expect(await said(cancellation, {})).toBe("signer is undefined");
    expect(await said(cancellation, { signer: "trader.key" })).toBe('signer is "trader.key"');
    expect(await said(cancellation, { signer, type: "sink" })).toBe('type is "sink"');
    expect(await said(cancellation, { signer, signal: 5 })).toBe("signal is 5");
  });

  it("is named where there are no options", async () => {
    expect(await saidOf("sendCommand", cancellation)).toBe("the options are undefined");
    expect(await saidOf("sendCommand", cancellation, null)).toBe("the options are null");
    expect(await saidOf("submitTransaction", null)).toBe("the request is null");
    expect(await saidOf("submitTransaction", {}, null)).toBe("the options are null");
  });
});
