import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, test } from "@jest/globals";
import { CanceledError, createClient, NodeError, type TradewireError } from "tradewire";
import { freePort } from "../../support/free-port.mjs";
import { serveSockets } from "../../support/servers.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) {
    await close();
  }
});

/** A client of `auto` whose gRPC is refused, and the requests that its REST server gets. */
async function withGrpcRefused(answer: string | undefined) {
  const requests: string[] = [];
  const server = await serveSockets((socket) => {
    socket.on("data", (bytes) => {
      requests.push(String(bytes).split("\r\n", 1)[0] ?? "");
      if (answer !== undefined) {
        socket.write(answer);
      }
    });
  });
  closing.push(() => server.close());
  const client = createClient({
    transport: "auto",
    grpc: { url: `http://127.0.0.1:${await freePort()}` },
    rest: { url: server.url },
    retry: { baseMs: 1, maxMs: 2 },
  });
  closing.push(() => client.close());
  return { client, requests };
}

async function failureOf(call: Promise<unknown>): Promise<TradewireError> {
  const reason: unknown = await call.catch((reason: unknown) => reason);
  expect(reason).toHaveProperty("summary");
  return reason as TradewireError;
}

describe("auto, where gRPC is refused", () => {
  test.each([
    ["404 Not Found", "text/html", "<h1>No</h1>", Code.Unimplemented],
    ["404 Not Found", "application/json", '{"code":5,"message":"no such thing","details":[]}', Code.NotFound],
    ["501 Not Implemented", "application/json", '{"code":12,"message":"no","details":[]}', Code.Unimplemented],
  ])("gives the answer of REST, and sends a read once: %s, %s", async (status, type, body, code) => {
    const answer = `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const { client, requests } = await withGrpcRefused(answer);
    for (const count of [1, 2, 3]) {
      const failure = await failureOf(client.listSegments());
      expect(failure).toBeInstanceOf(NodeError);
      expect(failure).toMatchObject({ code, transport: "rest" });
      expect(requests).toHaveLength(count);
    }
  });

  test("tells a call whose time is up as such, after the whole of its time", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const { client, requests } = await withGrpcRefused(undefined);
    for (const count of [1, 2, 3]) {
      const start = runtime.monotonicMs();
      const failure = await runtime.until(failureOf(client.listSegments({ timeoutMs: 200 })));
      expect(failure).toMatchObject({ code: Code.DeadlineExceeded });
      expect(failure.summary).toContain("the deadline of the call passed");
      expect(runtime.monotonicMs() - start).toBe(200);
      expect(requests).toHaveLength(count);
    }
  });

  test("tells a call that was aborted as such", async () => {
    const { client } = await withGrpcRefused(undefined);
    for (let count = 0; count < 3; count += 1) {
      const abort = new AbortController();
      setTimeout(() => abort.abort(), 50); // At any time: the call does not end by itself.
      expect(await failureOf(client.listSegments({ signal: abort.signal }))).toBeInstanceOf(CanceledError);
      expect(await failureOf(client.listSegments({ signal: AbortSignal.timeout(50) }))).toMatchObject({
        code: Code.DeadlineExceeded,
      });
    }
  });
});
