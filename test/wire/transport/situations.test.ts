// What a read comes to, and how often a transaction reaches a node, in the situations that unattended services meet. Each client
// has two nodes and retries with patience, so anything that sent a transaction twice would be counted.
import { copyFileSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, describe, expect, it } from "@jest/globals";
import { type Client, type ClientConfig, createClient, type Transaction } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { LastBlockHeightResponseSchema } from "tradewire/gen/vega/api/v1/core_pb.js";
import { createAuthority } from "../../contract/certificates.js";
import { startConnectProxy } from "../../support/connect-proxy.js";
import { eventually, standsStill } from "../../support/eventually.js";
import { startForwarder } from "../../support/forwarder.js";
import { freePort } from "../../support/free-port.mjs";
import { frame, startGrpcServer } from "../../support/grpc-server.js";
import { resolveNames } from "../../support/names.js";
import { startNat } from "../../support/nat.js";
import { serveNode } from "../../support/node.js";
import { startRawHttp, whole } from "../../support/raw-http.js";
import { startStallingProxy } from "../../support/stalling-proxy.js";
import { craft } from "../../support/transactions.js";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";
import { startTlsFront } from "../../support/ways.js";

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
async function startCounting(says: { chainId?: string; height?: bigint; hangs?: "reads" | "submissions" } = {}) {
  const { chainId = "chain-1", height = 1000n, hangs } = says;
  const counts = { read: 0, submitted: 0 };
  /** Answers nothing until the call is lost. */
  const hang = async ({ signal }: { readonly signal: AbortSignal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw new ConnectError("gone", Code.Unavailable);
  };
  const time = () => ({ timestamp: BigInt(Date.now()) * 1_000_000n });
  const node = await serveNode(
    {
      getVegaTime: time,
      info: () => ({ version: "v0.78.0", commitHash: "abc" }),
      async getNetworkParameter({ key }, context) {
        counts.read += 1;
        if (hangs === "reads") {
          await hang(context);
        }
        return { networkParameter: { key, value: String(height) } };
      },
    },
    {
      getVegaTime: time,
      lastBlockHeight: () => ({ chainId, height, hash: "ab".repeat(32) }),
      async submitTransaction(_, context) {
        counts.submitted += 1;
        if (hangs === "submissions") {
          await hang(context);
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

const patient = { tries: 5, baseMs: 1, maxMs: 1, maxTokens: 1000, tokenRatio: 1 };

type Tls = NonNullable<ClientConfig["grpc"]>["tls"];
type More = Pick<ClientConfig, "proxy" | "timeouts" | "retry" | "limits"> & { readonly tls?: Tls };

function clientOf(transport: Name, nodes: readonly Urls[], { tls, ...options }: More = {}): Client {
  const grpc = { url: nodes.map((urls) => urls.grpc), tls };
  const rest = { url: nodes.map((urls) => urls.rest), tls };
  const more = { chainId: "chain-1", retry: patient, timeouts: { callMs: 3000, connectMs: 1000 }, ...options };
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

/** Two authorities, each of which knows the clients of its own. */
const [first, second] = [createAuthority(), createAuthority()];
const serverPair = first.certify("IP:127.0.0.1");
afterAll(() => {
  first[Symbol.dispose]();
  second[Symbol.dispose]();
});

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );

/** Both servers of a node behind something that stands before each. */
async function inFront<T>(node: Urls, start: (target: string) => Promise<T>) {
  const [grpc, rest] = await Promise.all([start(node.grpc), start(node.rest)]);
  return [grpc, rest] as const;
}

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
    const first = await startCounting({ hangs: "submissions" });
    await using other = await startCounting();
    await using client = clientOf(transport, [urlsOf(first), urlsOf(other)]);
    const submitting = submit(client, await craft({ block }));
    await eventually(() => first.counts.submitted === 1);
    await first.close();
    expect(await submitting).toBe("OutcomeUnknownError");
    expect([first.counts.submitted, other.counts.submitted]).toEqual([1, 0]);
    expect(await read(client)).toBe("1000");
  });

  it("a node that is lost within a read costs it nothing: the next node answers", async () => {
    const first = await startCounting({ hangs: "reads" });
    await using other = await startCounting({ height: 1001n });
    await using client = clientOf(transport, [urlsOf(first), urlsOf(other)], { timeouts: { callMs: 60_000 } });
    const reading = read(client);
    await eventually(() => first.counts.read === 1);
    await first.close();
    expect(await reading).toBe("1001");
    expect([first.counts.read, other.counts.read]).toEqual([1, 1]);
  });

  it("a transaction right after its node is lost, with a connection open, is sent once", async () => {
    const first = await startCounting();
    await using other = await startCounting();
    await using client = clientOf(transport, [urlsOf(first), urlsOf(other)]);
    expect(await read(client)).toBe("1000");
    await first.close();
    const outcome = await submit(client, await craft({ block }));
    // Where the client has not noticed yet, the transaction may have been sent.
    expect(["accepted", "OutcomeUnknownError"]).toContain(outcome);
    expect([first.counts.submitted, other.counts.submitted]).toEqual([0, outcome === "accepted" ? 1 : 0]);
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
    const proxies = await inFront(urlsOf(node), startStallingProxy);
    const [grpc, rest] = proxies;
    const timeouts = { callMs: 1000, connectMs: 5000 };
    await using client = clientOf(transport, [{ grpc: grpc.url, rest: rest.url }], { timeouts });
    expect(await read(client)).toBe("1000");
    for (const proxy of proxies) {
      proxy.stall();
    }
    expect(await submit(client, await craft({ block }))).toMatch(/^(OutcomeUnknown|Connection)Error$/);
    expect(node.counts.submitted).toBeLessThanOrEqual(1);
    expect(await failureOf(read(client))).toMatchObject({ name: "ConnectionError", code: Code.DeadlineExceeded });
    await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
  });

  it("an answer that expands without end is refused, and the transaction stays unknown, sent once", async () => {
    const [node, gateway] = await Promise.all([startGrpcServer(), startRawHttp()]);
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    // The client asks for the chain before it submits.
    const last = create(LastBlockHeightResponseSchema, { chainId: "chain-1", height: 1000n, hash: "ab".repeat(32) });
    node.answer = ({ headers }) =>
      headers[":path"]?.endsWith("LastBlockHeight") === true
        ? { pieces: [frame(toBinary(LastBlockHeightResponseSchema, last))], ending: { "grpc-status": "0" } }
        : { headers: { "grpc-encoding": "gzip" }, pieces: [frame(bomb, 1)], ending: { "grpc-status": "0" } };
    gateway.answer = whole("200 OK", bomb, { "content-type": "application/json", "content-encoding": "gzip" });
    const limits = { maxMessageBytes: 2 ** 20, maxJsonBytes: 2 ** 20 };
    const client = clientOf(transport, [{ grpc: node.url, rest: gateway.url }], { limits });
    expect(await submit(client, await craft({ block }))).toBe("OutcomeUnknownError");
    const paths = [...node.calls.map(({ headers }) => headers[":path"]), ...gateway.requests.map(({ line }) => line)];
    expect(paths.filter((path) => /Submit|^POST/.test(String(path))).length).toBeLessThanOrEqual(1);
    expect(await failureOf(read(client))).toMatchObject({
      code: Code.ResourceExhausted,
      message: expect.stringContaining(`the limit of ${2 ** 20} bytes`),
    });
    await client.close();
    await Promise.all([node.close(), gateway.close()]);
  });

  it("a new address of a node's name is where the next connection goes, with reads and transactions", async () => {
    await using node = await startCounting();
    let address = "127.0.0.2";
    using _names = resolveNames(() => [address]);
    const ports = { grpc: await freePort(), rest: await freePort() };
    const forwardAll = (host: string) =>
      Promise.all([startForwarder(host, ports.grpc, node.grpcUrl), startForwarder(host, ports.rest, node.restUrl)]);
    const connections = (forwarders: Awaited<ReturnType<typeof forwardAll>>) =>
      forwarders.reduce((sum, { count }) => sum + count(), 0);
    const old = await forwardAll("127.0.0.2");
    const urls = { grpc: `http://node.invalid:${ports.grpc}`, rest: `http://node.invalid:${ports.rest}` };
    await using client = clientOf(transport, [urls], { timeouts: { callMs: 60_000, connectMs: 20_000 } });
    expect(await read(client)).toBe("1000");
    const renewed = await forwardAll("127.0.0.3");
    address = "127.0.0.3";
    await Promise.all(old.map((forwarder) => forwarder[Symbol.asyncDispose]()));
    const outcome = await submit(client, await craft({ block }));
    expect(await read(client)).toBe("1000");
    // Where the client has not noticed yet that its connection is lost, the transaction may have been sent on it.
    expect(["accepted", "OutcomeUnknownError"]).toContain(outcome);
    expect(node.counts.submitted).toBe(outcome === "accepted" ? 1 : 0);
    expect(await submit(client, await craft({ block }))).toBe("accepted");
    expect(connections(renewed)).toBeGreaterThan(0);
    await Promise.all(renewed.map((forwarder) => forwarder[Symbol.asyncDispose]()));
  });

  it("an idle connection that a NAT has forgotten costs no read and no transaction", async () => {
    await using node = await startCounting();
    const nats = await inFront(urlsOf(node), startNat);
    const [grpc, rest] = nats;
    let skippedMs = 0;
    using _clock = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + skippedMs });
    await using client = clientOf(transport, [{ grpc: grpc.url, rest: rest.url }], {
      timeouts: { callMs: 60_000, connectMs: 2000 },
      retry: { tries: 1 },
    });
    const forget = async () => {
      await standsStill(() => grpc.bytes() + rest.bytes()); // The call has ended on both sides.
      grpc.forget();
      rest.forget();
      skippedMs += 350_001;
    };
    expect(await read(client)).toBe("1000");
    await forget();
    expect(await submit(client, await craft({ block }))).toBe("accepted");
    await forget();
    expect(await read(client)).toBe("1000");
    expect(node.counts).toEqual({ read: 2, submitted: 1 });
    expect(grpc.count() + rest.count()).toBe(3);
    await Promise.all(nats.map((nat) => nat[Symbol.asyncDispose]()));
  });

  it("a proxy that asks for a password, or refuses it, is named, and nothing is sent", async () => {
    await using node = await startCounting();
    await using proxy = await startConnectProxy({ credentials: "user:password" });
    const hidden = (url: string) => url.replace("127.0.0.1", "node.invalid");
    for (const [url, what] of [
      [proxy.url, "requires a username and password"],
      [proxy.url.replace("//", "//user:s3cret@"), "refused the username and password"],
    ] as const) {
      const urls = { grpc: hidden(node.grpcUrl), rest: hidden(node.restUrl) };
      await using client = clientOf(transport, [urls], { proxy: url });
      const tx = await craft({ block });
      for (const call of [() => read(client), () => client.submitTransaction({ tx })]) {
        expect(await failureOf(call())).toMatchObject({
          name: "ConnectionError",
          summary: expect.stringContaining(`the proxy ${proxy.url} ${what}`),
          connected: false,
        });
      }
    }
    expect(node.connections).toEqual({ grpc: 0, rest: 0 });
  });

  it("a certificate that was replaced is used by the next connection, for reads and transactions", async () => {
    await using node = await startCounting();
    /** The options of a server that accepts the clients of one authority alone. */
    const accepting = ({ caFile }: { readonly caFile: string }) => ({
      cert: readFileSync(serverPair.certFile),
      key: readFileSync(serverPair.keyFile),
      ca: readFileSync(caFile),
      requestCert: true,
      rejectUnauthorized: true,
    });
    const fronts = await inFront(urlsOf(node), (target) => startTlsFront(target, accepting(first)));
    const [grpc, rest] = fronts;
    const pair = first.certify("DNS:client");
    await using client = clientOf(transport, [{ grpc: grpc.url, rest: rest.url }], {
      tls: { caFile: first.caFile, ...pair },
      timeouts: { callMs: 60_000, connectMs: 20_000 },
    });
    const replaceWith = (authority: typeof first) => {
      const { certFile, keyFile } = authority.certify("DNS:client");
      copyFileSync(certFile, pair.certFile);
      copyFileSync(keyFile, pair.keyFile);
      for (const front of fronts) {
        front.change(accepting(authority)); // From now on, it refuses the certificate before.
        front.cut();
      }
    };
    expect(await submit(client, await craft({ block }))).toBe("accepted");
    replaceWith(second);
    expect(await read(client)).toBe("1000");
    replaceWith(first);
    // Where the client has not noticed yet that its connection is lost, a transaction may have been sent on it.
    await eventually(async () => (await submit(client, await craft({ block }))) === "accepted");
    expect(node.counts.submitted).toBe(2);
    await Promise.all(fronts.map((front) => front[Symbol.asyncDispose]()));
  });
});
