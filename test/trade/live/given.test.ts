import { describe, expect, it } from "@jest/globals";
import { createClient, RequestError, signerFromSeed } from "tradewire";
import { taken } from "../../support/taken.js";

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
    [[null], "request must be an object (got null)"],
    [["order"], "request must be an object (got a string)"],
    [[["order"]], "request must be an object (got an array)"],
    [[{ type: ["order"] }], 'unknown field "type" in request'],
    [[{}, null], "options must be an object (got null)"],
    [[{}, { reconect: true }], 'unknown option "reconect" in options'],
    [[{}, { reconnect: "yes" }], 'reconnect must be true or false (got "yes")'],
    [[{}, { signal: {} }], "signal must be an AbortSignal (got an object)"],
    [[{ types: ["order"], lifecycle: "yes" }], 'lifecycle must be true or false (got "yes")'],
    [[{ lifecycle: 1 }], "lifecycle must be true or false (got 1)"],
    [[{ partyId: [HASH] }], "partyId must be 64 hex digits (got an array)"],
  ])("is named by the events: %j", async (given, said) => {
    expect(await saidOf("events", ...given)).toBe(said);
  });

  it.each([
    [[null], "request must be an object (got null)"],
    [[{ partyId: HASH }], 'unknown field "partyId" in request'],
    [[{ hashes: HASH }], `hashes must be an array of strings of 64 hex digits (got "${HASH}")`],
    [[{}, { signal: 5 }], "signal must be an AbortSignal (got 5)"],
  ])("is named by the results: %j", async (given, said) => {
    expect(await saidOf("transactionResults", ...given)).toBe(said);
  });

  it.each([
    [[], "request must be an object (got undefined)"],
    [["trades"], "request must be an object (got a string)"],
    [[{ table: "trades", from: 5 }], 'unknown field "from" in request'],
    [[{ table: "trades", cursor: "x" }], 'unknown field "cursor" in request'],
    [[{ table: "trades" }, null], "options must be an object (got null)"],
    [[{ table: "trades" }, { poll: 5 }], 'unknown option "poll" in options'],
    [[{ table: "trades" }, { extensions: "no" }], 'extensions must be "required" or "optional" (got "no")'],
  ])("is named by a follow: %j", async (given, said) => {
    expect(await saidOf("follow", ...given)).toBe(said);
  });

  it.each([
    [[], "the transaction must be its hash of 64 hex digits, or a signed transaction (got undefined)"],
    [[{ txHash: HASH }], "the transaction must be its hash of 64 hex digits, or a signed transaction (got an object)"],
    [[HASH, null], "options must be an object (got null)"],
    [[HASH, 500], "options must be an object (got 500)"],
    [[HASH, { timeout: 500 }], 'unknown option "timeout" in options'],
    [[HASH, { signal: 5 }], "signal must be an AbortSignal (got 5)"],
  ])("is named by the outcome: %j", async (given, said) => {
    expect(await saidOf("outcome", ...given)).toBe(said);
  });

  it.each([undefined, "executed"])("is named before anything is sent, until %s", async (until) => {
    const expectedSigner = "signer must be a result of signerFromKeyFile(), or { publicKey, sign(message) }";
    const said = (command: unknown, options: object) => saidOf("sendCommand", command, { until, ...options });
    expect(await said(null, { signer })).toBe("command must be an object (got null)");
    expect(await said({ case: "orderCancellation" }, { signer })).toBe(
      "orderCancellation must be an object with the command's fields; use {} for none (got undefined)",
    );
    expect(await said(cancellation, {})).toBe(`${expectedSigner} (got undefined)`);
    expect(await said(cancellation, { signer: "trader.key" })).toBe(`${expectedSigner} (got a string)`);
    expect(await said(cancellation, { signer, type: "sink" })).toMatch(/^type must be .* \(got "sink"\)$/);
    expect(await said(cancellation, { signer, signal: 5 })).toBe("signal must be an AbortSignal (got 5)");
  });

  it("is named where there are no options", async () => {
    expect(await saidOf("sendCommand", cancellation)).toBe("options must be an object (got undefined)");
    expect(await saidOf("sendCommand", cancellation, null)).toBe("options must be an object (got null)");
    expect(await saidOf("submitTransaction", null)).toBe("request must be an object (got null)");
    expect(await saidOf("submitTransaction", {}, null)).toBe("options must be an object (got null)");
  });
});
