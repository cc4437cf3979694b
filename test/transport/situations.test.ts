// What a read comes to, and how often a transaction reaches a node, in the situations that unattended services meet. Each client
// has two nodes and retries with patience, so anything that sent a transaction twice would be counted.
import { gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { type Client, createClient, type Transaction } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { eventually } from "../support/eventually.js";
import { freePort } from "../support/free-port.mjs";
import { frame, startGrpcServer } from "../support/grpc-server.js";
import { serveNode } from "../support/node.js";
import { startRawHttp, whole } from "../support/raw-http.js";
import { startStallingProxy } from "../support/stalling-proxy.js";
import { craft } from "../support/transactions.js";

const transports = ["grpc", "grpc-js", "rest", "auto"] as const;
type Name = (typeof transports)[number];

const block = {
  chainId: "chain-1",
  height: 1000n,
  hash: "ab".repeat(32),
  difficulty: 1,
  hashFunction: "sha3_24_rounds",
};

/** A node that accepts transactions, and counts them. */
async function startCounting(says: { chainId?: string; height?: bigint; hangs?: boolean } = {}) {
  const { chainId = "chain-1", height = 1000n, hangs = false } = says;
  const counts = { read: 0, submitted: 0 };
  const time = () => ({ timestamp: BigInt(Date.now()) * 1_000_000n });
  const node = await serveNode(
    {
      getVegaTime: time,
      info: () => ({ version: "v0.78.0", commitHash: "abc" }),
      getNetworkParameter({ key }) {
        counts.read += 1;
        return { networkParameter: { key, value: String(height) } };
      },
    },
    {
      getVegaTime: time,
      lastBlockHeight: () => ({ chainId, height, hash: "ab".repeat(32) }),
      async submitTransaction(_, { signal }) {
        counts.submitted += 1;
        if (hangs) {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw new ConnectError("gone", Code.Unavailable);
        }
        return { success: true, txHash: "AB".repeat(32) };
      },
    },
  );
  return Object.assign(node, { counts });
}

type Urls = { readonly grpc: string; readonly rest: string };
const urlsOf = ({ grpcUrl: grpc, restUrl: rest }: { readonly grpcUrl: string; readonly restUrl: string }): Urls => ({
  grpc,
  rest,
});

function clientOf(transport: Name, nodes: readonly Urls[]): Client {
  const grpc = { url: nodes.map((urls) => urls.grpc) };
  const rest = { url: nodes.map((urls) => urls.rest) };
  const more = {
    chainId: "chain-1",
    retry: { tries: 5, baseMs: 1, maxMs: 1, maxTokens: 1000, tokenRatio: 1 },
    timeouts: { callMs: 3000, connectMs: 1000 },
  };
  if (transport === "rest") {
    return createClient({ transport, rest, ...more });
  }
  return transport === "auto"
    ? createClient({ transport, grpc, rest, ...more })
    : createClient({ transport, grpc, ...more });
}

const read = async (client: Client) =>
  (await client.service(TradingDataService).getNetworkParameter({ key: "a.b" })).networkParameter?.value;

/** How a submission ended. */
const submit = async (client: Client, tx: Transaction) =>
  client.submitTransaction({ tx }).then(
    () => "accepted",
    (reason: unknown) => (reason instanceof Error ? reason.name : "no error"),
  );

const nowhere = async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  return { grpc: url, rest: url };
};

describe.each(transports)("over %s", (transport) => {
  it("a node that is lost before a call costs no call, and a transaction goes to the other one", async () => {
    await using other = await startCounting();
    await using client = clientOf(transport, [await nowhere(), urlsOf(other)]);
    expect(await read(client)).toBe("1000");
    expect(await submit(client, await craft({ block }))).toBe("accepted");
    expect(other.counts.submitted).toBe(1);
  });

  it("a node that is lost within a call leaves a transaction unknown, sent once", async () => {
    const first = await startCounting({ hangs: true });
    await using other = await startCounting();
    await using client = clientOf(transport, [urlsOf(first), urlsOf(other)]);
    const submitting = submit(client, await craft({ block }));
    await eventually(() => first.counts.submitted === 1);
    await first.close();
    expect(await submitting).toBe("OutcomeUnknownError");
    expect([first.counts.submitted, other.counts.submitted]).toEqual([1, 0]);
    expect(await read(client)).toBe("1000");
  });

  it("a node that is lost after a call costs no read, and no transaction is sent twice", async () => {
    const first = await startCounting();
    await using other = await startCounting();
    await using client = clientOf(transport, [urlsOf(first), urlsOf(other)]);
    expect(await read(client)).toBe("1000");
    await first.close();
    expect(await read(client)).toBe("1000");
    expect(await submit(client, await craft({ block }))).toBe("accepted");
    expect([first.counts.submitted, other.counts.submitted]).toEqual([0, 1]);
  });

  it.each([
    ["behind the other", { height: 10n }],
    ["on another chain", { chainId: "chain-2" }],
  ])("a node that is %s gets neither reads nor transactions", async (_, says) => {
    await using wrong = await startCounting(says);
    await using right = await startCounting();
    await using client = clientOf(transport, [urlsOf(wrong), urlsOf(right)]);
    expect(await read(client)).toBe("1000");
    expect(await submit(client, await craft({ block }))).toBe("accepted");
    expect([wrong.counts, right.counts.submitted]).toEqual([{ read: 0, submitted: 0 }, 1]);
  });

  it("a network that swallows everything ends calls by their deadline, and no transaction is sent twice", async () => {
    await using node = await startCounting();
    const proxies = await Promise.all([startStallingProxy(node.grpcUrl), startStallingProxy(node.restUrl)]);
    const [grpc, rest] = proxies;
    await using client = clientOf(transport, [{ grpc: grpc.url, rest: rest.url }]);
    expect(await read(client)).toBe("1000");
    for (const proxy of proxies) {
      proxy.stall();
    }
    expect(await submit(client, await craft({ block }))).toMatch(/^(OutcomeUnknown|Connection)Error$/);
    expect(node.counts.submitted).toBeLessThanOrEqual(1);
    await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
  });

  it("an answer that expands without end is refused, and the transaction stays unknown, sent once", async () => {
    const [node, gateway] = await Promise.all([startGrpcServer(), startRawHttp()]);
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    node.answer = { headers: { "grpc-encoding": "gzip" }, pieces: [frame(bomb, 1)], ending: { "grpc-status": "0" } };
    gateway.answer = whole("200 OK", bomb, { "content-type": "application/json", "content-encoding": "gzip" });
    const client = clientOf(transport, [{ grpc: node.url, rest: gateway.url }]);
    expect(await submit(client, await craft({ block }))).toBe("OutcomeUnknownError");
    expect(node.calls.length + gateway.requests.length).toBe(1);
    await client.close();
    await Promise.all([node.close(), gateway.close()]);
  });
});
