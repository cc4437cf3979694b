import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type ClientConfig, createClient, OutcomeUnknownError } from "tradewire";
import { createAuthority } from "../../contract/certificates.js";
import { startBreakingProxy } from "../../support/breaking-proxy.js";
import { eventually } from "../../support/eventually.js";
import { startGrpcServer } from "../../support/grpc-server.js";
import { startRawHttp, whole } from "../../support/raw-http.js";
import { serveSockets } from "../../support/servers.js";

const names = ["grpc", "grpc-js", "rest", "auto"] as const;
const authority = createAuthority();
const { certFile, keyFile } = authority.certify("IP:127.0.0.1");
const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };

/** The sockets that this process has opened, servers' apart. */
let opened: Socket[] = [];
const onSocket = (message: unknown) => {
  if (typeof message === "object" && message !== null && "socket" in message && message.socket instanceof Socket) {
    opened.push(message.socket);
  }
};
beforeAll(() => subscribe("net.client.socket", onSocket));
afterAll(() => {
  unsubscribe("net.client.socket", onSocket);
  authority[Symbol.dispose]();
});
beforeEach(() => {
  opened = [];
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** Start a node that counts requests, and calls `onRequest` before it answers each. */
async function startNode(options: typeof tls | undefined, onRequest: () => void) {
  const [grpc, rest] = await Promise.all([startGrpcServer(options), startRawHttp(options)]);
  closing.push(
    () => grpc.close(),
    () => rest.close(),
  );
  grpc.answer = () => {
    onRequest();
    return { ending: { "grpc-status": "0" } };
  };
  rest.answer = () => {
    onRequest();
    return whole("200 OK", "{}", { "content-type": "application/json" });
  };
  return { grpc: grpc.url, rest: rest.url, count: () => grpc.calls.length + rest.requests.length };
}

async function submit(transport: (typeof names)[number], grpc: string, rest: string, caFile?: string) {
  const endpoint = (url: string) => ({ url, ...(caFile !== undefined && { tls: { caFile } }) });
  const config: ClientConfig = { transport, grpc: endpoint(grpc), rest: endpoint(rest) };
  await using client = createClient(config);
  return await client.submitTransaction({ tx: {} }).then(
    () => "taken",
    (reason: unknown) => reason,
  );
}

describe("a submission whose connection fails after it has left is made once, and its outcome is unknown", () => {
  it.each(names)("where TLS breaks (%s)", async (name) => {
    let breakNow = () => {};
    const node = await startNode(tls, () => breakNow());
    const proxies = await Promise.all([node.grpc, node.rest].map(startBreakingProxy));
    breakNow = () => proxies.map((proxy) => proxy.breakNow());
    const [grpc, rest] = proxies;
    closing.push(...proxies.map((proxy) => async () => proxy[Symbol.asyncDispose]()));
    const failure = await submit(name, grpc?.url ?? "", rest?.url ?? "", authority.caFile);
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(String(failure)).toContain("the connection was lost");
    expect(node.count()).toBe(1);
  });

  it.each(["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EPROTO"])("where the socket says %s", async (code) => {
    for (const name of names) {
      opened = [];
      const node = await startNode(undefined, () => {
        for (const socket of opened) {
          socket.destroy(Object.assign(new Error(`read ${code}`), { code, errno: -110, syscall: "read" }));
        }
      });
      const failure = await submit(name, node.grpc, node.rest);
      expect([name, failure]).toEqual([name, expect.any(OutcomeUnknownError)]);
      expect(String(failure)).toContain("the connection was lost");
      expect([name, node.count()]).toEqual([name, 1]);
    }
  });
});

/** A server that accepts connections and answers nothing, and the bytes that it receives. */
async function startSilent() {
  const parts: Buffer[] = [];
  const server = await serveSockets((socket) => socket.on("data", (bytes) => parts.push(bytes)));
  closing.push(() => server.close());
  return { url: server.url, tlsUrl: server.url.replace("http:", "https:"), received: () => Buffer.concat(parts) };
}

/** Returns the types of the HTTP/2 frames after a client's preface (RFC 9113, 3.4 and 4.1). */
function frameTypes(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = 24; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    types.push(bytes[at + 3] ?? -1);
  }
  return types;
}

const SETTINGS = 4;
const TLS_HANDSHAKE = 22;

describe("a submission that ends before there is a connection was not sent", () => {
  it.each([
    ["grpc", "http"],
    ["grpc-js", "http"],
    ["grpc", "https"],
    ["grpc-js", "https"],
    ["rest", "https"],
  ] as const)("over %s, %s", async (transport, scheme) => {
    const silent = await startSilent();
    const url = scheme === "http" ? silent.url : silent.tlsUrl;
    await using client = createClient({ transport, grpc: { url }, rest: { url } });
    const end = new AbortController();
    const ended = client.submitTransaction({ tx: {} }, { signal: end.signal });
    await eventually(() => silent.received().length > 0);
    end.abort();
    await expect(ended).rejects.toMatchObject({ name: "CanceledError", mayHaveBeenSent: false });
    const late = client.submitTransaction({ tx: {} }, { timeoutMs: 100 });
    await expect(late).rejects.toMatchObject({
      name: "ConnectionError",
      code: Code.DeadlineExceeded,
      connected: false,
      summary: expect.stringContaining("before there was a connection"),
    });
    const bytes = silent.received();
    expect(scheme === "http" ? frameTypes(bytes)[0] : bytes[0]).toBe(scheme === "http" ? SETTINGS : TLS_HANDSHAKE);
    expect(bytes.length).toBeLessThan(2000);
  });

  it.each(["grpc", "grpc-js"] as const)(
    "over %s, where the process is busy while the call begins",
    async (transport) => {
      const silent = await startSilent();
      const headers = () => {
        for (const until = performance.now() + 60; performance.now() < until; ) {}
        return {};
      };
      await using client = createClient({ transport, grpc: { url: silent.url, headers } });
      await expect(client.submitTransaction({ tx: {} }, { timeoutMs: 100 })).rejects.toMatchObject({
        name: "ConnectionError",
        connected: false,
        summary: expect.stringContaining("before there was a connection"),
      });
    },
  );

  it.each([
    ["grpc", "rest"],
    ["grpc-js", "rest"],
    ["rest", "grpc"],
  ] as const)("so that it goes from %s to %s in time", async (first, second) => {
    const silent = await startSilent();
    const node = await startNode(undefined, () => undefined);
    const urls = { [first === "rest" ? "rest" : "grpc"]: silent.tlsUrl };
    const { grpc = node.grpc, rest = node.rest } = urls;
    await using client = createClient({ transport: [first, second], grpc: { url: grpc }, rest: { url: rest } });
    await client.submitTransaction({ tx: {} }, { timeoutMs: 2000 }).catch(() => undefined);
    expect(node.count()).toBe(1);
  });

  it("but its outcome is unknown over REST in clear text, where nothing precedes a request", async () => {
    const silent = await startSilent();
    await using client = createClient({ rest: { url: silent.url } });
    const late = client.submitTransaction({ tx: {} }, { timeoutMs: 500 });
    await expect(late).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(silent.received().toString()).toMatch(/^POST \/transaction /);
  });
});

it.each(names)("a connection that TLS ends behind its handshake is not kept (%s)", async (name) => {
  const mutual = { ...tls, ca: readFileSync(authority.caFile), requestCert: true, rejectUnauthorized: true };
  const node = await startNode(mutual, () => undefined); // In TLS 1.3 it refuses what it was not shown (RFC 8446, 4.4.2.4).
  const connections = () => process.getActiveResourcesInfo().filter((resource) => resource === "TCPSocketWrap").length;
  const before = connections();
  const failure = await submit(name, node.grpc, node.rest, authority.caFile);
  expect(String(failure)).toContain("the server requires a client certificate");
  await eventually(() => connections() <= before);
});
