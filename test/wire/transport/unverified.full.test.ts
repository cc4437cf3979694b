import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Authority, createAuthority, type KeyPair } from "../../contract/certificates.js";
import { builtProgram } from "../../support/built-program.js";
import { start } from "../../support/command-process.js";
import { startConnectProxy } from "../../support/connect-proxy.js";
import { ways } from "../../support/ways.js";

let authority: Authority;
let program: string;
beforeAll(async () => {
  authority = createAuthority();
  program = await builtProgram("test/support/untrusting-program.ts", "untrusting");
});
afterAll(() => {
  authority[Symbol.dispose]();
  rmSync(program, { force: true });
});

const read = ({ certFile, keyFile }: KeyPair) => ({ cert: readFileSync(certFile), key: readFileSync(keyFile) });

/** Start a TLS server that keeps what is sent to it, and then closes the connection. */
async function startListener(pair: KeyPair) {
  const received: Buffer[] = [];
  const server = createServer({ ...read(pair), ALPNProtocols: ["h2", "http/1.1"] }, (socket) => {
    socket
      .on("error", () => undefined)
      .on("data", (bytes) => {
        received.push(bytes);
        socket.destroy();
      });
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    received,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

const NAMES = "IP:127.0.0.1,DNS:node.invalid";
const DIRECT = 0;
const THROUGH_PLAIN_PROXY = 1;
const THROUGH_TLS_PROXY = 2;

// Node, tls.connect: with this variable, connections verify certificates only if `rejectUnauthorized` is true.
describe("a process with NODE_TLS_REJECT_UNAUTHORIZED=0 sends nothing to a server", () => {
  it.each([
    ["whose authority is not trusted", () => authority.certify(NAMES), false],
    ["whose certificate is for another name", () => authority.certify("DNS:node.example"), true],
    ["whose certificate has expired", () => authority.certify(NAMES, -1), true],
  ])("%s", async (_, certify, isAuthorityTrusted) => {
    await using server = await startListener(certify());
    await using plain = await startConnectProxy();
    await using secure = await startConnectProxy({ tls: read(authority.certify("IP:127.0.0.1")) });
    const args = [program, String(server.port), isAuthorityTrusted ? authority.caFile : "", plain.url, secure.url];
    const { code, out, err } = await start(process.execPath, args, undefined, {
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
      NODE_NO_WARNINGS: "1",
      NO_PROXY: "",
    }).ended;
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const ended = out
      .trimEnd()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    expect(ended).toEqual(
      ways.flatMap(({ name: way }) => [
        { way, path: DIRECT, ended: "TW_TLS" },
        { way, path: THROUGH_PLAIN_PROXY, ended: "TW_TLS" },
        { way, path: THROUGH_TLS_PROXY, ended: "TW_PROXY" },
      ]),
    );
    expect(Buffer.concat(server.received).toString("latin1")).toBe("");
    expect(secure.targets).toEqual([]);
  });
});
