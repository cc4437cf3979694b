// Slow, and worth it: a hundred situations on the wire have to come to the same over each of seven transports.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, RequestError } from "tradewire";
import { serveTcp } from "../support/node.js";
import { httpCases } from "./cases-http.js";
import { limitCases } from "./cases-limits.js";
import { networkCases } from "./cases-network.js";
import { statusCases } from "./cases-status.js";
import { streamCases } from "./cases-stream.js";
import { makeCertificates, removeCertificates, tlsCases } from "./cases-tls.js";
import { expectedOutcomes, isPossible, runCase } from "./run.js";
import { type Mark, tableOf } from "./table.js";
import { transports } from "./transports.js";

const cases = [...streamCases, ...statusCases, ...networkCases, ...httpCases, ...limitCases, ...tlsCases];
const rows: { one: (typeof cases)[number]; marks: Mark[] }[] = [];

beforeAll(makeCertificates);
afterAll(() => {
  removeCertificates();
  process.stdout.write(`\n${tableOf(rows)}\n`);
});

describe("over every transport alike", () => {
  it.each(cases.map((one) => [one.name, one] as const))("%s", async (_, one) => {
    const possible = transports.filter((transport) => isPossible(one, transport));
    const runs = await Promise.all(
      possible.map(async (transport) => ({ transport, found: await runCase(one, transport) })),
    );
    const first = runs[0]?.found ?? {};
    const compared = runs.map(({ transport, found }) => {
      const expected = expectedOutcomes(one, transport, first);
      return { name: transport.name, found, expected, same: isSame(found, expected) };
    });
    const marks = transports.map(({ name }): Mark => {
      const same = compared.find((comparison) => comparison.name === name)?.same;
      return same === undefined ? "–" : same ? "✓" : "✗";
    });
    rows.push({ one, marks });
    expect(Object.fromEntries(compared.map(({ name, found }) => [name, found]))).toEqual(
      Object.fromEntries(compared.map(({ name, expected }) => [name, expected])),
    );
  });
});

function isSame(found: unknown, expected: unknown): boolean {
  try {
    expect(found).toEqual(expected);
    return true;
  } catch {
    return false;
  }
}

describe("a token does not leave over plain HTTP to another machine", () => {
  const address = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  const headers = { authorization: "Bearer a-secret" };

  it.each(transports.map((transport) => [transport.name, transport] as const))("%s", async (_, { config }) => {
    // Where a machine has no address but loopback's, the counter-check alone shows that the server would be reached.
    await using server = await serveTcp((socket) => socket.end(), "0.0.0.0");
    const { port } = new URL(server.url);
    const at = (url: string, more = {}) => {
      const endpoint = { url, headers, ...more };
      return config({ grpc: endpoint, rest: endpoint, nowhere: "127.0.0.1:1" });
    };
    const client = (url: string, more = {}) => createClient({ ...at(url, more), retry: { tries: 1 } });
    for (const host of [address ?? "node.example", "node.example"]) {
      const connect = () => client(`http://${host}:${port}`, { allowInsecureHeaders: false });
      expect(connect).toThrow(RequestError);
      expect(connect).toThrow(`headers would be sent over plain HTTP to ${host}`);
    }
    expect(server.count()).toBe(0);

    await using allowed = client(`http://${address ?? "127.0.0.1"}:${port}`, { allowInsecureHeaders: true });
    await expect(allowed.listSegments()).rejects.toThrow("the connection was lost");
    expect(server.count()).toBeGreaterThan(0);
  });
});

describe("a server that ends a connection without a word is taken for one that may want TLS", () => {
  const asked = { advice: expect.stringMatching(/^If the port speaks TLS, use an https: URL\./) };
  const single = transports.filter(({ name }) => !name.startsWith("auto"));

  it.each(single.map((transport) => [transport.name, transport] as const))("%s", async (_, { config }) => {
    const [key, cert] = ["key.pem", "cert.pem"].map((name) =>
      readFileSync(new URL(`../support/tls/${name}`, import.meta.url)),
    );
    const server = createServer({ key, cert }).listen(0, "127.0.0.1");
    await once(server, "listening");
    using _server = { [Symbol.dispose]: () => void server.close() };
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    await using client = createClient({
      ...config({ grpc: { url }, rest: { url }, nowhere: "" }),
      retry: { tries: 1 },
    });
    await expect(client.listSegments()).rejects.toMatchObject(asked);
    const exported = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 2 });
    await expect(exported.toZip()).rejects.toMatchObject(asked);
  });

  it("but not one that has begun to answer", async () => {
    await using server = await serveTcp((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n"));
    await using client = createClient({ transport: "rest", rest: { url: server.url }, retry: { tries: 1 } });
    await expect(client.listSegments()).rejects.toMatchObject({
      summary: `the connection was lost (${server.url})`,
      advice: "Try again. If it persists, check the server and the network.",
    });
  });
});
