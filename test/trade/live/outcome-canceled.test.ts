import type { HandlerContext } from "@connectrpc/connect";
import { expect, test } from "@jest/globals";
import { CanceledError, createClient } from "tradewire";
import { serveNode } from "../../support/node.js";

test("looking for an earlier one ends with the signal, however long the node takes, and with a closed client", async () => {
  const abort = new AbortController();
  let isAnswered = false;
  const lastBlockHeight = (_: unknown, { signal }: HandlerContext) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        isAnswered = true;
        reject(new Error("no answer"));
      });
      abort.abort();
    });
  await using node = await serveNode({}, { lastBlockHeight });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  await expect(client.outcome("AB".repeat(32), { signal: abort.signal })).rejects.toThrow(CanceledError);
  expect(isAnswered).toBe(false);
  await client.close();
  const reason = expect.stringMatching(/^the event stream failed: the client is closed/);
  await expect(client.outcome("AB".repeat(32))).resolves.toMatchObject({ status: "unknown", reason });
});
