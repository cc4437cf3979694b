import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, Code, ConnectionError } from "tradewire";
import { type Authority, createAuthority } from "../../contract/certificates.js";
import { startConnectProxy } from "../../support/connect-proxy.js";
import { closedUrl, serveTcp } from "../../support/node.js";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";
import { startTlsFront, startWaysNode, type Way, type WaysNode, ways } from "../../support/ways.js";

let node: WaysNode;
let authority: Authority;
beforeAll(async () => {
  node = await startWaysNode();
  authority = createAuthority();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  authority[Symbol.dispose]();
});

/** The URL of a node's server under a name that only the proxy knows. */
const hidden = (url: string) => url.replace("127.0.0.1", "node.invalid");

async function failureOf(way: Way, client: Client, signal?: AbortSignal): Promise<ConnectionError> {
  const reason: unknown = await way.call(client, signal && { signal }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(reason instanceof ConnectionError)) {
    throw new Error("the call did not fail by its connection", { cause: reason });
  }
  return reason;
}

/** Call a node through a proxy that misbehaves. */
async function failureThrough(way: Way, proxy: string, more: { readonly connectMs?: number } = {}) {
  await using client = way.connect("http://node.invalid:3007", { proxy, timeouts: more });
  return await failureOf(way, client);
}

describe.each(ways.map((way) => [way.name, way] as const))("a proxy, over %s,", (_, way) => {
  it("opens a tunnel by the node's name, which this machine need not know", async () => {
    await using proxy = await startConnectProxy();
    const url = hidden(node.urls[way.server]);
    await using client = way.connect(url, { proxy: proxy.url });
    await way.call(client);
    expect(proxy.targets).toEqual([new URL(url).host]);
    expect(proxy.requests[0]?.headers["proxy-authorization"]).toBeUndefined();
  });

  it("gets user name and password, which may have any characters", async () => {
    await using proxy = await startConnectProxy({ credentials: "us er:p@ss:w/örd" });
    const withPassword = proxy.url.replace("//", "//us%20er:p%40ss%3Aw%2F%C3%B6rd@");
    await using client = way.connect(hidden(node.urls[way.server]), { proxy: withPassword });
    await way.call(client);
    expect(proxy.targets).toHaveLength(1);
  });

  it("carries TLS to the node, whose certificate is checked against the node's name", async () => {
    const { certFile, keyFile } = authority.certify("DNS:node.invalid");
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    await using front = await startTlsFront(node.urls[way.server], pair);
    await using proxy = await startConnectProxy();
    const tls = { caFile: authority.caFile };
    await using client = way.connect(hidden(front.url), { proxy: proxy.url, tls });
    await way.call(client);
    expect(proxy.targets).toEqual([`node.invalid:${front.port}`]);

    await using other = way.connect(front.url.replace("127.0.0.1", "other.invalid"), { proxy: proxy.url, tls });
    expect(await failureOf(way, other)).toMatchObject({
      headline: "the server's certificate is for another hostname",
      connected: false,
    });
  });

  it("is reached over TLS where its URL has https:", async () => {
    const { certFile, keyFile } = authority.certify("IP:127.0.0.1");
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    const node443 = authority.certify("DNS:node.invalid");
    await using front = await startTlsFront(node.urls[way.server], {
      cert: readFileSync(node443.certFile),
      key: readFileSync(node443.keyFile),
    });
    await using proxy = await startConnectProxy({ tls: pair });
    using _trusted = useRuntime({
      connect: ({ tls, ...server }) =>
        nodeRuntime.connect({ ...server, tls: tls && trusting(tls, readFileSync(authority.caFile)) }),
    });
    const tls = { caFile: authority.caFile };
    await using client = way.connect(hidden(front.url), { proxy: proxy.url, tls });
    await way.call(client);
    expect(proxy.targets).toEqual([`node.invalid:${front.port}`]);
  });

  it("is not taken for loopback, whatever the configuration says", async () => {
    await using proxy = await startConnectProxy();
    await using client = way.connect(node.urls[way.server], { proxy: proxy.url });
    await way.call(client);
    expect(proxy.targets).toEqual([]);
  });

  it("that cannot be reached is named, without its password", async () => {
    const nowhere = await closedUrl();
    const error = await failureThrough(way, nowhere.replace("//", "//user:s3cret@"));
    expect(error).toMatchObject({
      headline: `the proxy ${nowhere} is unreachable: the connection was refused`,
      code: Code.Unavailable,
      connected: false,
      errorCode: "TW_PROXY",
    });
    expect(JSON.stringify([error, error.message, String(error.cause)])).not.toContain("s3cret");
  });

  it("that asks for a password, or refuses it, is named", async () => {
    await using proxy = await startConnectProxy({ credentials: "user:password" });
    expect(await failureThrough(way, proxy.url)).toMatchObject({
      headline: `the proxy ${proxy.url} requires a username and password (HTTP 407)`,
      code: Code.Unauthenticated,
      connected: false,
    });
    const error = await failureThrough(way, proxy.url.replace("//", "//user:s3cret@"));
    expect(error).toMatchObject({
      headline: `the proxy ${proxy.url} refused the username and password (HTTP 407)`,
      code: Code.Unauthenticated,
    });
    expect(error.message).not.toContain("s3cret");
    await using other = await serveTcp((socket) => socket.once("data", () => socket.write("HTTP/1.0 401 No\r\n\r\n")));
    expect(await failureThrough(way, other.url.replace("//", "//user:s3cret@"))).toMatchObject({
      headline: `the proxy ${other.url} refused the username and password (HTTP 401)`,
      code: Code.Unauthenticated,
    });
  });

  const FLOOD = "sent a header of more than 16384 bytes";
  it.each([
    [
      "403",
      "HTTP/1.1 403 Forbidden\r\n\r\n",
      "refuses to connect to node.invalid:3007 (HTTP 403)",
      Code.PermissionDenied,
    ],
    [
      "a redirect",
      "HTTP/1.0 302 Found\r\nLocation: /\r\n\r\n",
      "refuses to connect to node.invalid:3007 (HTTP 302)",
      Code.PermissionDenied,
    ],
    ["502", "HTTP/1.1 502 Bad Gateway\r\n\r\n", "cannot connect to node.invalid:3007 (HTTP 502)", Code.Unavailable],
    [
      "504 after 103",
      "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 504\r\n\r\n",
      "cannot connect to node.invalid:3007 (HTTP 504)",
      Code.Unavailable,
    ],
    ["as an SSH server does", "SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP", Code.Unavailable],
    ["without a status", "HTTP/1.1 OK\r\n\r\n", "does not speak HTTP", Code.Unavailable],
    ["a header without an end", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}`, FLOOD, Code.Unavailable],
    ["without an end", "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000), FLOOD, Code.Unavailable],
  ])("that answers %s is named", async (_answer, answer, what, code) => {
    await using proxy = await serveTcp((socket) => socket.once("data", () => socket.write(answer)));
    expect(await failureThrough(way, proxy.url)).toMatchObject({
      headline: `the proxy ${proxy.url} ${what}`,
      code,
      connected: false,
    });
  });

  it("that closes the connection is named", async () => {
    await using proxy = await serveTcp((socket) => socket.once("data", () => socket.end("HTTP/1.1 2")));
    expect(await failureThrough(way, proxy.url)).toMatchObject({
      headline: `the proxy ${proxy.url} closed the connection before it responded`,
    });
  });

  it("that does not answer is given up after the time for connecting", async () => {
    await using proxy = await serveTcp((socket) => socket.resume());
    expect(await failureThrough(way, proxy.url, { connectMs: 100 })).toMatchObject({
      headline: `the proxy ${proxy.url} did not respond in time`,
      code: Code.Unavailable,
      connected: false,
    });
  });

  it("that does not answer holds no call whose signal is aborted", async () => {
    const controller = new AbortController();
    await using proxy = await serveTcp((socket) => socket.once("data", () => controller.abort()));
    await using client = way.connect("http://node.invalid:3007", { proxy: proxy.url });
    await expect(way.call(client, { signal: controller.signal })).rejects.toMatchObject({ name: "CanceledError" });
  });
});

/** Adds an authority to the options of connections that have none of their own, which are those to proxies. */
function trusting(tls: ConnectionOptions, ca: Buffer): ConnectionOptions {
  return tls.ca === undefined ? { ...tls, ca } : tls;
}
