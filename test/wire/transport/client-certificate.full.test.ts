import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type ClientConfig, createClient } from "tradewire";
import { createAuthority } from "../../contract/certificates.js";

let authority: ReturnType<typeof createAuthority>;
let stranger: ReturnType<typeof createAuthority>;
beforeAll(() => {
  authority = createAuthority();
  stranger = createAuthority();
});
afterAll(() => {
  authority[Symbol.dispose]();
  stranger[Symbol.dispose]();
});

type Tls = NonNullable<NonNullable<ClientConfig["grpc"]>["tls"]>;

const TRANSPORTS = ["grpc", "grpc-js", "rest"] as const;

function connecting(transport: (typeof TRANSPORTS)[number], url: string, tls: Tls) {
  const endpoint = { url, tls: { caFile: authority.caFile, ...tls } };
  return createClient({ transport, grpc: endpoint, rest: endpoint, retry: { tries: 1 } });
}

/** OpenSSL's own server, which wants a certificate of the authority, and sends the alerts of TLS (Node's sends none). */
async function serveOpenssl(version: string) {
  const { certFile, keyFile } = authority.certify("IP:127.0.0.1");
  const own = ["-cert", certFile, "-key", keyFile, "-CAfile", authority.caFile, "-alpn", "h2,http/1.1", version];
  const asking = ["-Verify", "1", "-verify_return_error"];
  const server = spawn("openssl", ["s_server", "-accept", "127.0.0.1:0", ...own, ...asking], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(server, "exit");
  for await (const line of createInterface({ input: server.stdout })) {
    const port = /^ACCEPT 127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port !== undefined) {
      server.stdout.resume();
      const close = async () => {
        server.kill();
        await ended;
      };
      return { url: `https://127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
    }
  }
  throw new Error("openssl s_server did not start");
}

// RFC 8446, 6.2: unknown_ca and certificate_required; before TLS 1.3, a missing certificate is a handshake_failure.
describe.each(TRANSPORTS)("over %s", (transport) => {
  test.each(["-tls1_2", "-tls1_3"])("a certificate that the server refuses is named as such (%s)", async (version) => {
    await using server = await serveOpenssl(version);
    await using client = connecting(transport, server.url, stranger.certify("DNS:client"));
    await expect(client.listSegments({ timeoutMs: 20_000 })).rejects.toMatchObject({
      name: "ConnectionError",
      summary: `the server refused the client certificate, or requires one (${server.url})`,
      advice: expect.stringContaining("tls.certFile and tls.keyFile"),
    });
  });

  test("a certificate that the server misses is named as such", async () => {
    await using server = await serveOpenssl("-tls1_3");
    await using client = connecting(transport, server.url, {});
    await expect(client.listSegments({ timeoutMs: 20_000 })).rejects.toMatchObject({
      name: "ConnectionError",
      summary: `the server requires a client certificate (${server.url})`,
    });
  });

  test("a certificate with the key of another is refused before anything is sent", () => {
    const [{ certFile }, { keyFile }] = [authority.certify("DNS:client"), authority.certify("DNS:other")];
    expect(() => connecting(transport, "https://127.0.0.1:1", { certFile, keyFile })).toThrow(
      `the key "${keyFile}" does not match the certificate "${certFile}"`,
    );
  });
});
