import { getEventListeners } from "node:events";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { CanceledError, Code, ConnectionError, createClient, RequestError, readConfig } from "tradewire";
import { type ObserveEventBusResponse, TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { WebSocket } from "ws";
import { createWebSocketClient } from "../../../../src/wire/transport/rest/websocket.js";
import { createAuthority } from "../../../contract/certificates.js";
import { block } from "../../../support/block.js";
import { asking, type BusRequest, eventFrame, idsOf, observe, readAll, restClient } from "../../../support/bus.js";
import { eventually, standsStill } from "../../../support/eventually.js";
import { gate } from "../../../support/gate.js";
import { closedUrl, serveNode, serveTcp } from "../../../support/node.js";
import { serveWebSockets } from "../../../support/socket-server.js";
import { startStallingProxy } from "../../../support/stalling-proxy.js";
import { useVirtualRuntime } from "../../../support/virtual-runtime.js";

/** Answers each frame with an event that has the frame for its identifier. */
const echo = (socket: WebSocket) => socket.on("message", (data) => socket.send(eventFrame(String(data))));

/** The configuration of REST. */
function restConfig(url: string) {
  const { rest } = readConfig({ transport: "rest", rest: { url } });
  if (rest === undefined) {
    throw new Error("the configuration has no REST");
  }
  return { ...rest, url };
}

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

describe("a method that streams both ways", () => {
  it("has each request in a frame, each answer in one, and goes on behind the end of the requests", async () => {
    await using server = await serveWebSockets((socket) => {
      echo(socket);
      let frames = 0;
      socket.on("message", () => {
        frames += 1;
        if (frames === 2) {
          void hasEnded.promise.then(() => socket.send(eventFrame("later")));
        }
      });
    });
    await using client = restClient(server.url);
    const hasEnded = gate();
    async function* two(): AsyncGenerator<BusRequest> {
      yield { batchSize: 7n, marketId: "m" };
      yield {};
      hasEnded.open();
    }
    expect(await take(3, observe(client, two()))).toEqual(['{"marketId":"m","batchSize":"7"}', "{}", "later"]);
    await eventually(() => server.sockets.size === 0);
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
    await eventually(() => server.sockets.size === 0);
  });
});

describe("headers", () => {
  it("are the configuration's and the call's, and a bearer token is sent once, in its header", async () => {
    await using server = await serveWebSockets((socket) => socket.send(eventFrame("1")));
    const headers = { authorization: "Bearer a.b-c_d", cookie: "c=1", origin: "http://o.example" };
    await using client = restClient(server.url, { headers });
    await take(1, observe(client, asking(), { headers: { referer: "http://r.example", "x-own": "1" } }));
    expect(server.requests[0]?.headers).toMatchObject({
      ...headers,
      referer: "http://r.example",
      "x-own": "1",
    });
    expect(server.requests[0]?.headers).not.toHaveProperty("sec-websocket-protocol");
    expect(server.requests[0]?.headers).not.toHaveProperty("sec-websocket-extensions");
  });

  it("of a call do not go over plain HTTP to another machine", async () => {
    await using client = restClient("http://node.example:1");
    const { error } = await readAll(observe(client, asking(1n), { headers: { authorization: "Bearer abc" } }));
    expect(error).toBeInstanceOf(RequestError);
    expect(error?.summary).toContain("would be sent over plain HTTP to node.example");
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
    [{ caFile, ...own }, "the server's certificate is for another hostname", false],
    [named, "the server requires a client certificate", true],
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
    await eventually(() => server.sockets.size === 0);
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
    await eventually(() => server.sockets.size === 0);
    const { error } = await readAll(observe(client, asking(1n)));
    expect(error).toMatchObject({ name: "ConnectionError", connected: false });
  });

  it("with a frame that says that nothing went wrong, however the call is left", async () => {
    const codes: number[] = [];
    await using server = await serveWebSockets((socket) => {
      socket.on("close", (code) => codes.push(code));
      for (let sent = 0; sent < 100; sent += 1) {
        socket.send(eventFrame("x".repeat(60_000)));
      }
    });
    const client = restClient(server.url);
    const abort = new AbortController();
    const left = observe(client, asking(1n))[Symbol.asyncIterator]();
    const aborted = observe(client, asking(1n), { signal: abort.signal })[Symbol.asyncIterator]();
    const cut = observe(client, asking(1n))[Symbol.asyncIterator]();
    await Promise.all([left, aborted, cut].map((answers) => answers.next()));
    await left.return?.();
    abort.abort();
    await client.close();
    await eventually(() => server.sockets.size === 0);
    expect(codes).toEqual([1000, 1000, 1000]);
  });

  it("by the limit of idle time, which answers begin anew", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using server = await serveWebSockets(async (socket) => {
      for (let sent = 0; sent < 10; sent += 1) {
        socket.send(eventFrame("1"));
        await runtime.after(50);
      }
    });
    await using client = restClient(server.url, { timeouts: { idleMs: 300 } });
    const { ids, error } = await runtime.until(readAll(observe(client, asking(1n))));
    expect(ids).toHaveLength(10);
    expect(error).toMatchObject({ code: Code.DeadlineExceeded, summary: "no data received for 300 ms (idle timeout)" });
  });
});

describe("a slow side holds back the other", () => {
  const large = "x".repeat(60_000);

  it("answers that nobody reads, which all come in the end", async () => {
    let sent = 0;
    await using server = await serveWebSockets(async (socket) => {
      while (sent < 1000 && socket.readyState === WebSocket.OPEN) {
        await new Promise((resolve) => socket.send(eventFrame(`${sent}${large}`), resolve));
        sent += 1;
      }
    });
    await using client = restClient(server.url);
    const answers = observe(client, asking(1n))[Symbol.asyncIterator]();
    await answers.next();
    await standsStill(() => sent);
    expect(sent).toBeLessThan(500); // 30 MB: what the system holds.
    for (let at = 1; at < 1000; at += 1) {
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
        if (received === 1000) {
          socket.send(eventFrame("all"));
        }
      });
    });
    await using client = restClient(node.url);
    async function* requests(): AsyncGenerator<BusRequest> {
      for (; asked < 1000; asked += 1) {
        yield { marketId: large };
      }
    }
    const heard = take(1, observe(client, requests()));
    await eventually(() => server !== undefined);
    await standsStill(() => asked);
    expect(asked).toBeLessThan(500);
    server?.resume();
    expect(await heard).toEqual(["all"]);
  });
});

describe("pings", () => {
  /** A transport's socket that is pinged often. */
  async function open(url: string, pingMs = 40) {
    const sockets = createWebSocketClient(restConfig(url), { connectMs: 20_000, maxJsonBytes: 1000, pingMs });
    const socket = await sockets.open("/", new Headers(), new AbortController().signal);
    if (!("frames" in socket)) {
      throw new Error("no socket was opened");
    }
    return { socket, [Symbol.dispose]: () => sockets.close() };
  }

  it("keep a quiet socket, and end one whose server is gone", async () => {
    using runtime = useVirtualRuntime({ io: true });
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
    expect((await runtime.until(frames.next())).value).toEqual(Buffer.from("still there"));
    proxy.stall();
    await expect(runtime.until(frames.next())).rejects.toMatchObject({
      code: "ECONNRESET",
      message: "a ping was not answered",
    });
  });

  it("do not end a socket where this process is blocked when the answer comes", async () => {
    let pings = 0;
    await using server = await serveWebSockets((socket) => {
      socket.on("ping", () => {
        pings += 1;
        if (pings === 1) {
          block(2500);
        } else {
          socket.send("still there");
        }
      });
    });
    using opened = await open(server.url, 1000);
    const frames = opened.socket.frames[Symbol.asyncIterator]();
    expect((await frames.next()).value).toEqual(Buffer.from("still there"));
  });

  it("do not end a socket whose answers are not read", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using server = await serveWebSockets((socket) => {
      for (let at = 0; at < 2000; at += 1) {
        socket.send("x".repeat(900));
      }
    });
    using opened = await open(server.url);
    const frames = opened.socket.frames[Symbol.asyncIterator]();
    await frames.next();
    await runtime.pass(400);
    let rest = 0;
    while (rest < 1999) {
      await frames.next();
      rest += 1;
    }
    expect(server.sockets.size).toBe(1);
  });
});

describe("nothing is left behind", () => {
  it("by hundreds of calls of one signal", async () => {
    await using server = await serveWebSockets((socket) => socket.send(eventFrame("1")));
    await using client = restClient(server.url);
    const { signal } = new AbortController();
    const before = process.getActiveResourcesInfo().length;
    for (let round = 0; round < 12; round += 1) {
      await Promise.all(Array.from({ length: 20 }, () => take(1, observe(client, asking(1n), { signal }))));
    }
    expect(server.requests).toHaveLength(240);
    await eventually(() => server.sockets.size === 0);
    await eventually(() => process.getActiveResourcesInfo().length <= before);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("by sockets that open, are refused, are cut or find no server", async () => {
    await using open = await serveWebSockets((socket) => socket.terminate());
    let connections = 0;
    const count = (socket: Socket) => {
      connections += 1;
      return socket.resume().on("close", () => {
        connections -= 1;
      });
    };
    await using refusing = await serveTcp((socket) =>
      count(socket).write("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno"),
    );
    await using cutting = await serveTcp((socket) => count(socket).destroy());
    const { signal } = new AbortController();
    for (const url of [open.url, refusing.url, cutting.url, await closedUrl()]) {
      const sockets = createWebSocketClient(restConfig(url), { connectMs: 60_000, maxJsonBytes: 1000 });
      for (let at = 0; at < 50; at += 1) {
        const opened = await sockets.open("/", new Headers(), signal).catch(() => undefined);
        if (opened !== undefined && "frames" in opened) {
          await opened.frames[Symbol.asyncIterator]()
            .next()
            .catch(() => undefined);
        } else if (opened !== undefined) {
          opened.resume();
        }
      }
      await eventually(() => getEventListeners(signal, "abort").length === 0);
    }
    await eventually(() => open.sockets.size + connections === 0);
  });
});

it("hooks and the node's limit on calls see a socket as one call", async () => {
  await using server = await serveWebSockets(
    (socket) => {
      socket.send(eventFrame("1"), () => socket.terminate());
    },
    { headers: ["ratelimit-limit: 2", "ratelimit-remaining: 0", "ratelimit-reset: 1"] },
  );
  const seen: string[] = [];
  await using client = createClient(
    { transport: "rest", rest: { url: server.url }, retry: { tries: 1 } },
    {
      hooks: {
        onCallStart: ({ method }) => seen.push(`start ${method}`),
        onBytes: (_, bytes) => seen.push(`${bytes} bytes`),
        onCallEnd: (_, { messages, error }) => seen.push(`end ${messages} ${error?.name}`),
        onWait: ({ reason }) => seen.push(reason),
      },
    },
  );
  const call = ["5 bytes", "end 1 ConnectionError"];
  const start = "start datanode.api.v2.TradingDataService/ObserveEventBus";
  await readAll(observe(client, asking(1n)));
  expect(seen).toEqual([start, ...call]);
  await readAll(observe(client, asking(1n)));
  expect(seen.slice(3)).toEqual([start, "the server's rate limit", ...call]);
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
