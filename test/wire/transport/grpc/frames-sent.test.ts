import { once } from "node:events";
import { createServer } from "node:http2";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { frame } from "../../../support/grpc-server.js";

/** The bytes with which a client begins a connection. */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const RST_STREAM = 3;

const sent: Buffer[] = [];
const node = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/grpc+proto" });
  response.addTrailers({ "grpc-status": "0" });
  response.end(frame(new Uint8Array()));
});
const relay = createTcpServer((socket) => {
  const { port } = node.address() as AddressInfo;
  const onwards = connect(port, "127.0.0.1");
  socket.on("data", (bytes) => sent.push(bytes));
  socket.pipe(onwards).pipe(socket);
  for (const each of [socket, onwards]) {
    each.on("error", () => undefined);
  }
});

beforeAll(async () => {
  for (const server of [node, relay]) {
    await once(server.listen(0, "127.0.0.1"), "listening");
  }
});
afterAll(() => {
  node.close();
  relay.close();
});

/** The types of the frames that were sent. */
function frameTypes(): number[] {
  const bytes = Buffer.concat(sent).subarray(PREFACE.length);
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    types.push(bytes.readUInt8(at + 3));
  }
  return types;
}

test("a call that has ended is not reset on top of it", async () => {
  const { port } = relay.address() as AddressInfo;
  await using client = createClient({ transport: "grpc", grpc: { url: `http://127.0.0.1:${port}` } });
  for (let calls = 0; calls < 20; calls += 1) {
    await client.lastBlockHeight().catch(() => undefined); // The node says nothing of a block.
  }
  expect(sent[0]?.toString("latin1").startsWith(PREFACE)).toBe(true);
  expect(frameTypes().length).toBeGreaterThan(40);
  expect(frameTypes()).not.toContain(RST_STREAM);
});
