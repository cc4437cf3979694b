import { once } from "node:events";
import type { ClientHttp2Session, ServerHttp2Stream, Settings } from "node:http2";
import { afterEach, expect, it } from "@jest/globals";
import { createSessions } from "../../../../src/wire/transport/grpc/http2-sessions.js";
import { serveStreams, type TestServer } from "../../../support/servers.js";
import { startStallingProxy } from "../../../support/stalling-proxy.js";
import { useVirtualRuntime } from "../../../support/virtual-runtime.js";

const GRPC = { ":status": 200, "content-type": "application/grpc+proto" };

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) {
    await each.close();
  }
});

async function serve(answer: (stream: ServerHttp2Stream) => void, settings: Settings = {}): Promise<TestServer> {
  const server = await serveStreams(answer, settings);
  closing.push(server);
  return server;
}

/** A call that wants its stream, and does nothing when it closes. */
const OWNER = { isWanted: () => true, onClose: () => undefined };

function sessionsWith({ url }: { readonly url: string }, keepaliveMs = 60_000) {
  const sessions = createSessions(
    { url, codec: "proto", compression: "none", windowBytes: 65_535, keepaliveMs, allowInsecureHeaders: false },
    { connectMs: 10_000 },
  );
  closing.push({ close: async () => sessions.close() });
  return sessions;
}

it("a request that waits for a ping opens no connection once all are closed", async () => {
  using runtime = useVirtualRuntime({ io: true });
  const server = await serve((stream) => stream.respond(GRPC, { endStream: true }));
  await using proxy = await startStallingProxy(server.url);
  const sessions = sessionsWith(proxy, 50);
  const request = async () => sessions.request({ ":method": "POST", ":path": "/" }, OWNER);
  const first = await request();
  first.resume().end();
  await new Promise((done) => first.once("close", done));
  await runtime.pass(51); // The connection is to be pinged before its next use.
  proxy.stall();
  const next = request();
  const failed = expect(next).rejects.toThrow(/^the transport (is|was) closed$/);
  await new Promise(setImmediate);
  sessions.close();
  await failed;
  expect(server.sessions).toHaveLength(1);
});

// Node 20.20.2 resets the streams of a session at once when it is destroyed, `Http2Stream::SubmitRstStream` in src/node_http2.cc,
// and nghttp2 frees the one whose frame it is processing: "corrupted size vs. prev_size".
it("sessions that are closed because of their input are destroyed when it has been processed", async () => {
  const server = await serve((stream) => stream.respond(GRPC, { endStream: true }));
  const sessions = sessionsWith(server);
  const stream = await sessions.request({ ":method": "POST", ":path": "/" }, OWNER);
  const { session } = stream;
  stream.resume().end();
  const isDestroyed = await new Promise((resolve) => {
    stream.once("end", () => {
      sessions.close();
      resolve(session?.destroyed);
    });
  });
  expect(isDestroyed).toBe(false);
  await new Promise(setImmediate);
  expect(session?.destroyed).toBe(true);
});

it("many requests after a pause ping their connection once, and use it", async () => {
  using runtime = useVirtualRuntime({ io: true });
  const server = await serve((stream) => stream.respond(GRPC, { endStream: true }));
  const sessions = sessionsWith(server, 50);
  const request = async () => {
    const stream = await sessions.request({ ":method": "POST", ":path": "/" }, OWNER);
    stream.resume().end();
    await once(stream, "close");
    return stream.rstCode;
  };
  await request();
  await runtime.pass(51); // The connection is to be pinged before its next use.
  // Node has at most ten pings of a connection in flight.
  expect(await Promise.all(Array.from({ length: 30 }, request))).toEqual(Array(30).fill(0));
  expect(server.sessions.length).toBe(1);
});

it("a request is not sent on a connection that is given up while it comes to its turn", async () => {
  const server = await serve((stream) => stream.respond(GRPC, { endStream: true }));
  const lost: number[] = [];
  for (let steps = 0; steps < 12; steps += 1) {
    const sessions = sessionsWith(server);
    const first = await sessions.request({ ":method": "POST", ":path": "/" }, OWNER);
    const { session } = first;
    first.resume().end();
    await once(first, "close");
    let wasSent = false;
    const open: ClientHttp2Session["request"] = Reflect.get(session ?? {}, "request").bind(session);
    Object.assign(session ?? {}, {
      request(...given: Parameters<ClientHttp2Session["request"]>) {
        wasSent = true;
        return open(...given);
      },
    });
    const next = sessions.request({ ":method": "POST", ":path": "/" }, OWNER);
    for (let step = 0; step < steps; step += 1) {
      await undefined;
    }
    const wasSentBefore = wasSent;
    session?.destroy();
    const stream = await next;
    let failure: unknown;
    stream.on("error", (reason) => {
      failure = reason;
    });
    stream.resume().end();
    await once(stream, "close").catch(() => undefined);
    if (!wasSentBefore && failure !== undefined) {
      lost.push(steps);
    }
  }
  expect(lost).toEqual([]);
});
