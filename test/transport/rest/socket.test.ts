import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { WebSocket } from "ws";
import { type ObserveEventBusResponse, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../../gen/vega/api/v1/core_pb.js";
import { createClient } from "../../../src/client.js";
import { readConfig } from "../../../src/config/schema.js";
import { CanceledError, ConnectionError, RequestError } from "../../../src/errors/index.js";
import { Code } from "../../../src/index.js";
import { createSocketClient } from "../../../src/transport/rest/socket.js";
import { createAuthority } from "../../contract/certificates.js";
import { asking, type BusRequest, eventFrame, idsOf, observe, readAll, restClient } from "../../support/bus.js";
import { serveNode } from "../../support/node.js";
import { serveWebSockets } from "../../support/socket-server.js";
import { startStallingProxy } from "../../support/stalling-proxy.js";

/** Answers each frame with an event that has the frame for its identifier. */
const echo = (socket: WebSocket) => socket.on("message", (data) => socket.send(eventFrame(String(data))));

/** Read so many answers, and leave. */
async function take(count: number, answers: AsyncIterable<ObserveEventBusResponse>): Promise<string[]> {
  const ids: string[] = [];
  for await (const answer of answers) {
    ids.push(idsOf(answer));
    if (ids.length === count) {
      break;
    }
  }
  return ids;
}

/** Wait, as long as a test may take, until something holds. */
async function until(holds: () => boolean): Promise<void> {
  const signal = AbortSignal.timeout(20_000);
  while (!holds()) {
    await sleep(5, undefined, { signal });
  }
}

describe("a method that streams both ways", () => {
  it("has each request in a frame, each answer in one, and goes on behind the end of the requests", async () => {
    await using server = await serveWebSockets((socket) => {
      echo(socket);
      setTimeout(() => socket.send(eventFrame("later")), 50);
    });
    await using client = restClient(server.url);
    async function* two(): AsyncGenerator<BusRequest> {
      yield { batchSize: 7n, marketId: "m" };
      yield {};
    }
    expect(await take(3, observe(client, two()))).toEqual(['{"marketId":"m","batchSize":"7"}', "{}", "later"]);
    await until(() => server.sockets.size === 0);
  });

  it("is called at its path, behind that of the URL", async () => {
    await using server = await serveWebSockets((socket) => socket.send(eventFrame("1")));
    await using client = restClient(`${server.url}/base/`);
    await take(1, observe(client, asking()));
    async function* nothing(): AsyncGenerator<never> {}
    for await (const _ of client.service(CoreService).observeEventBus(nothing())) {
      break;
    }
    expect(server.requests.map(({ url, method }) => `${method} ${url}`)).toEqual([
      "GET /base/api/v2/stream/event/bus",
      "GET /base/stream/event/bus",
    ]);
  });

  it("takes no socket where the answers alone stream", async () => {
    await using node = await serveNode({
      async *observeTrades() {
        yield { trades: [{ id: "1" }] };
      },
    });
    await using client = restClient(node.restUrl);
    for await (const { trades } of client.service(TradingDataService).observeTrades({})) {
      expect(trades.map(({ id }) => id)).toEqual(["1"]);
    }
  });

  it("is ended by what its requests throw", async () => {
    await using server = await serveWebSockets(echo);
    await using client = restClient(server.url);
    async function* failing(): AsyncGenerator<BusRequest> {
      yield {};
      throw new Error("no more paper");
    }
    const reason = await take(9, observe(client, failing())).catch((error: unknown) => error);
    expect(String(reason)).toContain("no more paper");
    await until(() => server.sockets.size === 0);
  });
});

describe("headers", () => {
  it("are the configuration's and the call's, and a bearer token is a subprotocol too", async () => {
    await using server = await serveWebSockets((socket) => socket.send(eventFrame("1")));
    const headers = { authorization: "Bearer a.b-c_d", cookie: "c=1", origin: "http://o.example" };
    await using client = restClient(server.url, { headers });
    await take(1, observe(client, asking(), { headers: { referer: "http://r.example", "x-own": "1" } }));
    expect(server.requests[0]?.headers).toMatchObject({
      ...headers,
      "sec-websocket-protocol": "Bearer,a.b-c_d",
      referer: "http://r.example",
      "x-own": "1",
    });
    expect(server.requests[0]?.headers).not.toHaveProperty("sec-websocket-extensions");
  });

  it("a server need not choose the subprotocol, and a token of other characters is none", async () => {
    await using server = await serveWebSockets((socket) => socket.send(eventFrame("1")), { subprotocol: false });
    for (const token of ["abc", "a/b="]) {
      await using client = restClient(server.url, { headers: { authorization: `Bearer ${token}` } });
      expect(await take(1, observe(client, asking()))).toEqual(["1"]);
    }
    expect(server.requests.map(({ headers }) => headers["sec-websocket-protocol"])).toEqual(["Bearer,abc", undefined]);
  });

  it("of a call do not go over plain HTTP to another machine", async () => {
    await using client = restClient("http://node.example:1");
    const { error } = await readAll(observe(client, asking(1n), { headers: { authorization: "Bearer abc" } }));
    expect(error).toBeInstanceOf(RequestError);
    expect(error?.summary).toContain("would go over plain HTTP to node.example");
  });
});

it("over TLS, the server and the client prove who they are", async () => {
  using authority = createAuthority();
  const [server, own] = [authority.certify("DNS:node.example"), authority.certify("DNS:client")];
  const tls = {
    cert: readFileSync(server.certFile),
    key: readFileSync(server.keyFile),
    ca: readFileSync(authority.caFile),
    requestCert: true,
    rejectUnauthorized: true,
  };
  await using node = await serveWebSockets(echo, { tls });
  const { caFile } = authority;
  const named = { caFile, serverName: "node.example" };
  await using client = restClient(node.url, { tls: { ...named, ...own } });
  expect(await take(1, observe(client, asking(3n)))).toEqual(['{"batchSize":"3"}']);
  const failures = [
    [{ serverName: "node.example", ...own }, "the server's certificate is not trusted", false],
    [{ caFile, ...own }, "the server's certificate is for another name", false],
    [named, "no secure connection could be made (TLS)", true],
  ] as const;
  for (const [given, summary, connected] of failures) {
    await using other = restClient(node.url, { tls: given });
    const { error } = await readAll(observe(other, asking(1n)));
    expect(error?.summary).toContain(summary);
    expect(error).toMatchObject({ name: "ConnectionError", connected });
  }
});

describe("a socket is closed at once", () => {
  it.each(["before", "while it opens", "when it is open", "when an answer came"])("by a signal: %s", async (when) => {
    const abort = new AbortController();
    const end = (now: string) => now === when && abort.abort();
    await using server = await serveWebSockets((socket) => {
      socket.send(eventFrame("1"));
    });
    server.onRequest(() => end("while it opens"));
    await using client = restClient(server.url);
    end("before");
    async function* requests(): AsyncGenerator<BusRequest> {
      end("when it is open");
      yield* asking(1n);
    }
    const ended = (async () => {
      for await (const _ of observe(client, requests(), { signal: abort.signal })) {
        end("when an answer came");
      }
    })();
    await expect(ended).rejects.toBeInstanceOf(CanceledError);
    await until(() => server.sockets.size === 0);
  });

  it("by the end of the client, also one that is unread", async () => {
    await using server = await serveWebSockets((socket) => socket.send(eventFrame("1")));
    const client = restClient(server.url);
    const first = observe(client, asking(1n))[Symbol.asyncIterator]();
    const second = observe(client, asking(1n))[Symbol.asyncIterator]();
    await Promise.all([first.next(), second.next()]);
    const waiting = first.next().catch((reason: unknown) => reason);
    await client.close();
    expect(await waiting).toMatchObject({ name: "ConnectionError", code: Code.Canceled });
    await until(() => server.sockets.size === 0);
    const { error } = await readAll(observe(client, asking(1n)));
    expect(error).toMatchObject({ name: "ConnectionError", connected: false });
  });

  it("by the limit of idle time, which answers begin anew", async () => {
    await using server = await serveWebSockets((socket) => {
      const timer = setInterval(() => socket.send(eventFrame("1")), 50);
      setTimeout(() => clearInterval(timer), 500);
    });
    await using client = restClient(server.url, { timeouts: { idleMs: 300 } });
    const { ids, error } = await readAll(observe(client, asking(1n)));
    expect(ids.length).toBeGreaterThan(4);
    expect(error).toMatchObject({ code: Code.DeadlineExceeded, summary: "nothing came for 300 ms" });
  });
});

describe("a slow side holds back the other", () => {
  const large = "x".repeat(60_000);

  it("answers that nobody reads, which all come in the end", async () => {
    let sent = 0;
    await using server = await serveWebSockets(async (socket) => {
      while (sent < 2000 && socket.readyState === WebSocket.OPEN) {
        await new Promise((resolve) => socket.send(eventFrame(`${sent}${large}`), resolve));
        sent += 1;
      }
    });
    await using client = restClient(server.url);
    const answers = observe(client, asking(1n))[Symbol.asyncIterator]();
    await answers.next();
    for (let before = -1; before !== sent; await sleep(300)) {
      before = sent;
    }
    expect(sent).toBeLessThan(500); // 30 MB: what the system holds.
    for (let at = 1; at < 2000; at += 1) {
      const { value } = await answers.next();
      expect(value?.events[0]?.id).toBe(`${at}${large}`);
    }
    await answers.return?.();
  });

  it("requests that the server does not read", async () => {
    let asked = 0;
    let server: WebSocket | undefined;
    await using node = await serveWebSockets((socket) => {
      server = socket;
      socket.pause();
      let received = 0;
      socket.on("message", () => {
        received += 1;
        if (received === 2000) {
          socket.send(eventFrame("all"));
        }
      });
    });
    await using client = restClient(node.url);
    async function* requests(): AsyncGenerator<BusRequest> {
      for (; asked < 2000; asked += 1) {
        yield { marketId: large };
      }
    }
    const heard = take(1, observe(client, requests()));
    await until(() => server !== undefined);
    for (let before = -1; before !== asked; await sleep(300)) {
      before = asked;
    }
    expect(asked).toBeLessThan(500);
    server?.resume();
    expect(await heard).toEqual(["all"]);
  });
});

describe("pings", () => {
  /** A transport's socket that is pinged often. */
  async function open(url: string) {
    const { rest } = readConfig({ transport: "rest", rest: { url } });
    if (rest === undefined) {
      throw new Error("the configuration has no REST");
    }
    const sockets = createSocketClient(rest, { connectMs: 5000, maxJsonBytes: 1000, pingMs: 40 });
    const socket = await sockets.open("/", new Headers(), new AbortController().signal);
    if (!("frames" in socket)) {
      throw new Error("no socket was opened");
    }
    return { socket, [Symbol.dispose]: () => sockets.close() };
  }

  it("keep a quiet socket, and end one whose server is gone", async () => {
    let pings = 0;
    await using server = await serveWebSockets((socket) => {
      socket.on("ping", () => {
        pings += 1;
        if (pings === 5) {
          socket.send("still there");
        }
      });
    });
    await using proxy = await startStallingProxy(server.url);
    using opened = await open(proxy.url);
    const frames = opened.socket.frames[Symbol.asyncIterator]();
    expect((await frames.next()).value).toEqual(Buffer.from("still there"));
    proxy.stall();
    await expect(frames.next()).rejects.toMatchObject({ code: "ECONNRESET", message: "a ping was not answered" });
  });

  it("do not end a socket whose answers are not read", async () => {
    await using server = await serveWebSockets((socket) => {
      for (let at = 0; at < 2000; at += 1) {
        socket.send("x".repeat(900));
      }
    });
    using opened = await open(server.url);
    const frames = opened.socket.frames[Symbol.asyncIterator]();
    await frames.next();
    await sleep(400);
    let rest = 0;
    while (rest < 1999) {
      await frames.next();
      rest += 1;
    }
    expect(server.sockets.size).toBe(1);
  });
});

it("a thousand calls leave nothing behind", async () => {
  await using server = await serveWebSockets((socket) => socket.send(eventFrame("1")));
  const abort = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = abort.signal;
  abort.signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
    listeners += 1;
    addEventListener.apply(abort.signal, given);
  };
  abort.signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
    listeners -= 1;
    removeEventListener.apply(abort.signal, given);
  };
  const before = process.getActiveResourcesInfo().length;
  await using client = createClient({ transport: "rest", rest: { url: server.url } });
  for (let round = 0; round < 50; round += 1) {
    await Promise.all(Array.from({ length: 20 }, () => take(1, observe(client, asking(1n), { signal: abort.signal }))));
  }
  await until(() => server.sockets.size === 0);
  await until(() => process.getActiveResourcesInfo().length <= before + 2);
  expect(listeners).toBe(0);
});

it("a connection that is cut is lost, and the next call has another", async () => {
  await using server = await serveWebSockets((socket) => {
    socket.send(eventFrame("1"), () => socket.terminate());
  });
  await using client = restClient(server.url);
  for (let call = 0; call < 2; call += 1) {
    const { ids, error } = await readAll(observe(client, asking(1n)));
    expect(ids).toEqual(["1"]);
    expect(error).toBeInstanceOf(ConnectionError);
  }
  expect(server.requests).toHaveLength(2);
});
