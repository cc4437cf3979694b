import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type ClientConfig, createClient, createKeyFile, FileError, readConfig } from "tradewire";
import { type Authority, createAuthority, type KeyPair } from "../../contract/certificates.js";

const ofNodeExample = (name: string) => fileURLToPath(new URL(`../../support/tls/${name}`, import.meta.url));

/** Serve on a port of 127.0.0.1; the server is closed when the returned value is disposed of. */
async function serve(server: Server, scheme: "http" | "https"): Promise<{ url: string } & Disposable> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { url: `${scheme}://127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() };
}

/** Ask a server, which does not answer as a node. */
async function ask(rest: NonNullable<ClientConfig["rest"]>): Promise<unknown> {
  await using client = createClient({ transport: "rest", rest, retry: { tries: 1 } });
  return await client.lastBlockHeight();
}

describe("the server's certificate", () => {
  let authority: Authority;
  beforeAll(() => {
    authority = createAuthority();
  });
  afterAll(() => authority[Symbol.dispose]());

  const ofExample = { certFile: ofNodeExample("cert.pem"), keyFile: ofNodeExample("key.pem") };
  it.each<[string, () => { keys: KeyPair; caFile?: string }, string, string]>([
    [
      "has expired",
      () => ({ keys: authority.certify("IP:127.0.0.1", -1), caFile: authority.caFile }),
      "the server's certificate has expired",
      "Ask the server's operator to renew the certificate, and check the clock of this machine.",
    ],
    [
      "is for another name",
      () => ({ keys: ofExample, caFile: ofExample.certFile }),
      "the server's certificate is for another hostname",
      "Use a hostname that is in the certificate, or set tls.serverName to one.",
    ],
    [
      "is signed by itself",
      () => ({ keys: ofExample }),
      "the server's certificate is not trusted",
      "If you trust the server, set tls.caFile to the file of its certificate authority, or of the certificate itself.",
    ],
  ])("%s", async (_, made, summary, advice) => {
    const { keys, caFile } = made();
    const [cert, key] = [readFileSync(keys.certFile), readFileSync(keys.keyFile)];
    using server = await serve(createTlsServer({ cert, key }), "https");
    const asked = ask({ url: server.url, ...(caFile !== undefined && { tls: { caFile } }) });
    await expect(asked).rejects.toMatchObject({ summary: `${summary} (${server.url})`, advice });
  });
});

it.each(["grpc", "grpc-js"] as const)("a gateway behind TLS is no server of %s", async (transport) => {
  const [cert, key] = [readFileSync(ofNodeExample("cert.pem")), readFileSync(ofNodeExample("key.pem"))];
  using server = await serve(createTlsServer({ cert, key }), "https");
  const tls = { caFile: ofNodeExample("cert.pem") };
  await using client = createClient({ transport, grpc: { url: server.url, tls }, retry: { tries: 1 } });
  await expect(client.lastBlockHeight()).rejects.toMatchObject({
    summary: `the server does not speak the protocol of this transport (${server.url})`,
    advice: expect.stringMatching(/^Check that the URL belongs to this transport: /),
  });
});

it("a redirect is not followed, and may be one to a login", async () => {
  const location = "https://login.example/";
  using server = await serve(
    createServer((_, response) => response.writeHead(302, { location }).end()),
    "http",
  );
  await expect(ask({ url: server.url })).rejects.toMatchObject({
    summary: `the node answered UNKNOWN: HTTP 302, a redirect to "${location}", which is not followed`,
    advice:
      "If the redirect leads to the server, use its target as the URL. If it leads to a login page, set the required credentials.",
  });
});

it("credentials in a URL go elsewhere, and are not shown", () => {
  const read = () => readConfig({ rest: { url: "https://me:s3cret@node.example" } });
  expect(read).toThrow("must not contain a username, password, query or fragment; put secrets into headers");
  expect(read).not.toThrow("s3cret");
});

(process.getuid?.() === 0 ? it.skip : it)("a folder that one must not write to", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-locked-"));
  await chmod(folder, 0o500);
  const making = createKeyFile(join(folder, "trader.key"));
  await expect(making).rejects.toThrow(FileError);
  await expect(making).rejects.toMatchObject({
    summary: expect.stringMatching(/trader\.key: permission denied$/),
    advice: "Check the permissions, or choose another folder.",
  });
  await rm(folder, { recursive: true });
});
