import { readFileSync } from "node:fs";
import type { TlsOptions } from "node:tls";
import { Code } from "@connectrpc/connect";
import { type ClientConfig, ConnectionError } from "tradewire";
import { serveNode } from "../support/node.js";
import { type Case, type Expected, failure, type Surroundings } from "./case.js";
import { createAuthority, type KeyPair } from "./certificates.js";
import type { NodeEndpoints } from "./transports.js";

type ClientTls = NonNullable<NonNullable<ClientConfig["grpc"]>["tls"]>;

/** The files that the cases take. */
function makeFiles() {
  const authority = createAuthority();
  const stranger = createAuthority();
  return {
    caFile: authority.caFile,
    right: authority.certify("IP:127.0.0.1"),
    named: authority.certify("DNS:node.example"),
    expired: authority.certify("IP:127.0.0.1", -1),
    ofClient: authority.certify("IP:127.0.0.1\nextendedKeyUsage=clientAuth"),
    client: authority.certify("DNS:client"),
    otherCaFile: stranger.caFile,
    otherClient: stranger.certify("DNS:client"),
    [Symbol.dispose]() {
      authority[Symbol.dispose]();
      stranger[Symbol.dispose]();
    },
  };
}

type Files = ReturnType<typeof makeFiles>;
let files: Files;

/** Make the certificates; to be called before the cases are run. */
export function makeCertificates(): void {
  files = makeFiles();
}

/** Remove them. */
export function removeCertificates(): void {
  files[Symbol.dispose]();
}

const token = "Bearer a-secret";
const refused = (summary: string) => failure(ConnectionError, Code.Unavailable, summary);

const notTrusted = refused("the server's certificate is not trusted");
const lost = refused("the connection was lost");
const asksForOne = refused("the server requires a client certificate");

function withEndpoint(own: NodeEndpoints, more: { tls?: ClientTls; headers?: Record<string, string> }): NodeEndpoints {
  const { grpc, rest, nowhere } = own;
  const headers = { headers: { ...grpc.headers, ...more.headers } };
  return { grpc: { ...grpc, ...more, ...headers }, rest: { ...rest, ...more, ...headers }, nowhere };
}

function serving({ certFile, keyFile }: KeyPair): TlsOptions {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

function tlsCase(name: string, tls: (files: Files) => [TlsOptions, ClientTls], expected: Expected): Case {
  const surround = (): Surroundings => {
    const [server, client] = tls(files);
    return { tls: server, endpoints: (own) => withEndpoint(own, { tls: client }) };
  };
  return { name: `TLS: ${name}`, surround, expected };
}

function tokenCase(name: string, tls?: (files: Files) => [TlsOptions, ClientTls]): Case {
  const surround = (): Surroundings => {
    const [server, client] = tls?.(files) ?? [];
    return {
      ...(server !== undefined && { tls: server }),
      endpoints: (own) => withEndpoint(own, { ...(client && { tls: client }), headers: { authorization: token } }),
      check(requests) {
        if (requests.length === 0 || requests.some(({ authorization }) => authorization !== token)) {
          throw new Error("the token did not arrive");
        }
      },
    };
  };
  return { name: `a token arrives ${name}`, surround, expected: "success" };
}

function mutual({ right, caFile }: Files): TlsOptions {
  return { ...serving(right), ca: readFileSync(caFile), requestCert: true, rejectUnauthorized: true };
}

/** Who the server and the client are, and what is entrusted to whom. */
export const tlsCases: readonly Case[] = [
  tlsCase("the right certificate", ({ right, caFile }) => [serving(right), { caFile }], "success"),
  tlsCase(
    "the right certificate for a name that is configured",
    ({ named, caFile }) => [serving(named), { caFile, serverName: "node.example" }],
    "success",
  ),
  tlsCase("another authority", ({ right, otherCaFile: caFile }) => [serving(right), { caFile }], notTrusted),
  tlsCase("the system's authorities alone", ({ right }) => [serving(right), {}], notTrusted),
  tlsCase(
    "an expired certificate",
    ({ expired, caFile }) => [serving(expired), { caFile }],
    refused("the server's certificate has expired"),
  ),
  tlsCase("a certificate for clients", ({ ofClient, caFile }) => [serving(ofClient), { caFile }], notTrusted),
  tlsCase(
    "another name",
    ({ named, caFile }) => [serving(named), { caFile }],
    refused("the server's certificate is for another hostname"),
  ),
  tlsCase(
    "the client's certificate, where it is asked for",
    (own) => [mutual(own), { caFile: own.caFile, ...own.client }],
    "success",
  ),
  tlsCase(
    "a client's certificate of another authority",
    (own) => [mutual(own), { caFile: own.caFile, ...own.otherClient }],
    lost,
  ),
  tlsCase("no client's certificate, where it is asked for", (own) => [mutual(own), { caFile: own.caFile }], asksForOne),
  {
    name: "TLS: none where it is expected",
    surround: async () => {
      const plain = await serveNode({});
      return {
        endpoints: ({ grpc, rest, nowhere }) => ({
          grpc: { ...grpc, url: plain.grpcUrl.replace("http", "https") },
          rest: { ...rest, url: plain.restUrl.replace("http", "https") },
          nowhere,
        }),
        [Symbol.asyncDispose]: () => plain.close(),
      };
    },
    expected: refused("the server does not speak TLS"),
  },
  {
    name: "TLS: there where it is not expected",
    surround: () => ({
      tls: serving(files.right),
      endpoints: ({ grpc, rest, nowhere }) => ({
        grpc: { ...grpc, url: String(grpc.url).replace("https", "http") },
        rest: { ...rest, url: String(rest.url).replace("https", "http") },
        nowhere,
      }),
    }),
    expected: lost,
  },
  tokenCase("over loopback"),
  tokenCase("over TLS", ({ right, caFile }) => [serving(right), { caFile }]),
];
