import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Authority, createAuthority } from "../../contract/certificates.js";
import { startConnectProxy } from "../../support/connect-proxy.js";
import { startTlsFront, type Way, type WayOptions, ways } from "../../support/ways.js";

let authority: Authority;
beforeAll(() => {
  authority = createAuthority();
});
afterAll(() => authority[Symbol.dispose]());

/** Start a server that refuses every request, and keeps the names by which it was called. */
async function startNamedServer({ server: protocol }: Way, address: string) {
  const names: (string | undefined)[] = [];
  const http2 = createHttp2Server().on("stream", (stream, headers) => {
    names.push(headers[":authority"]);
    stream.on("error", () => undefined);
    stream.respond({ ":status": 503 }, { endStream: true });
  });
  const http = createHttpServer((request, response) => {
    names.push(request.headers.host);
    response.writeHead(503, { connection: "close" }).end();
  });
  const server: Server = protocol === "grpc" ? http2 : http;
  server.listen(0, address);
  await once(server, "listening");
  return {
    names,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

async function refuse(way: Way, url: string, options?: WayOptions): Promise<void> {
  await using client = way.connect(url, options);
  await expect(way.call(client)).rejects.toThrow("503");
}

// RFC 9113, 8.3.1, and RFC 9110, 7.2: the authority of the URL, in which an IPv6 address has brackets (RFC 3986, 3.2.2).
describe.each(ways.map((way) => [way.name, way] as const))("a server is called by its name over %s:", (_, way) => {
  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "[::1]"],
  ])("%s", async (address, host) => {
    await using server = await startNamedServer(way, address);
    await refuse(way, `http://${host}:${server.port}`);
    expect(server.names).toEqual([`${host}:${server.port}`]);
  });

  it.each([
    ["http://[2001:db8::7]:3007", "[2001:db8::7]:3007", "[2001:db8::7]:3007"],
    ["http://[2001:DB8:0::7]", "[2001:db8::7]", "[2001:db8::7]:80"],
    ["http://NODE.invalid:3007", "node.invalid:3007", "node.invalid:3007"],
    ["http://node.invalid:80", "node.invalid", "node.invalid:80"],
    ["https://[2001:db8::7]:3007", "[2001:db8::7]:3007", "[2001:db8::7]:3007"],
    ["https://[2001:db8::7]", "[2001:db8::7]", "[2001:db8::7]:443"],
    ["https://node.invalid", "node.invalid", "node.invalid:443"],
  ])("%s through a proxy", async (url, name, tunnel) => {
    await using server = await startNamedServer(way, "127.0.0.1");
    const { certFile, keyFile } = authority.certify("DNS:node.invalid,IP:2001:db8::7");
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    await using front = await startTlsFront(`http://127.0.0.1:${server.port}`, pair);
    const isSecure = url.startsWith("https:");
    await using proxy = await startConnectProxy({ to: isSecure ? front.port : server.port });
    await refuse(way, url, { proxy: proxy.url, ...(isSecure && { tls: { caFile: authority.caFile } }) });
    expect(server.names).toEqual([name]);
    expect(proxy.targets).toEqual([tunnel]);
    expect(proxy.requests[0]?.headers.host).toBe(tunnel);
  });
});
