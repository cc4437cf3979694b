import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { ConnectionError, createTransport, readConfig } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { block } from "../../../support/block.js";
import { head, startRawHttp, whole } from "../../../support/raw-http.js";
import { failure, JSON_TYPE } from "../../../support/rest-probe.js";

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) {
    await end();
  }
});

function connect(url: string) {
  const transport = createTransport(readConfig({ transport: "rest", rest: { url }, retry: { tries: 1 } }));
  ends.push(() => transport.close());
  return createClient(TradingDataService, transport);
}

/** Start a server on Node's HTTP, which keeps connections open; counts them and the requests. */
async function serve(listener: RequestListener) {
  const seen = { connections: 0, requests: 0 };
  const server = createServer((request, response) => {
    seen.requests += 1;
    listener(request, response);
  });
  server.on("connection", () => {
    seen.connections += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, seen, segments: connect(`http://127.0.0.1:${port}`).listAllNetworkHistorySegments };
}

const answered: RequestListener = (_, response) => {
  response.setHeader("content-type", "application/json").end("{}");
};

describe("connections of small calls over REST", () => {
  it("are not taken once the server may close them, however late this process is", async () => {
    const { seen, segments } = await serve((request, response) => {
      response.setHeader("connection", "keep-alive").setHeader("keep-alive", "timeout=3");
      answered(request, response);
    });
    await segments({});
    block(2100); // No timer of either side fires.
    await segments({});
    expect(seen).toEqual({ connections: 2, requests: 2 });
  });

  it("are kept for the calls that follow", async () => {
    const { seen, segments } = await serve(answered);
    for (let call = 0; call < 3; call += 1) {
      await segments({});
    }
    expect(seen).toEqual({ connections: 1, requests: 3 });
  });

  it("have one request at a time", async () => {
    const { seen, segments } = await serve((request, response) => {
      if (seen.requests === 1 || seen.requests === 4) {
        answered(request, response); // The two between wait, and hold back nobody.
      }
    });
    await segments({}); // Its connection is kept.
    const abort = new AbortController();
    const waiting = [1, 2].map(() => failure(segments({}, { signal: abort.signal })));
    while (seen.requests < 3) {
      await turn();
    }
    await segments({});
    abort.abort();
    expect((await Promise.all(waiting)).map(({ code }) => code)).toEqual([Code.Canceled, Code.Canceled]);
    expect(seen).toEqual({ connections: 3, requests: 4 });
  });

  it("are made anew where the server has closed those that were kept", async () => {
    const { server, seen, segments } = await serve(answered);
    await segments({});
    server.closeAllConnections();
    for (let turns = 0; turns < 20; turns += 1) {
      await turn(); // The client hears of it.
    }
    await segments({});
    expect(seen).toEqual({ connections: 2, requests: 2 });
  });

  it("are not kept where the server says that it closes them", async () => {
    const { seen, segments } = await serve((request, response) => {
      answered(request, response.setHeader("connection", "close"));
    });
    await segments({});
    await segments({});
    expect(seen).toEqual({ connections: 2, requests: 2 });
  });

  it("lose the request that is on its way, and nothing of it goes out twice", async () => {
    const { seen, segments } = await serve((request, response) => {
      if (seen.requests === 1) {
        answered(request, response);
      } else {
        request.socket.destroy();
      }
    });
    await segments({});
    const { cause } = await failure(segments({}));
    expect(cause).toBeInstanceOf(ConnectionError);
    expect(cause).toMatchObject({ connected: true, code: Code.Unavailable });
    expect(seen.requests).toBe(2);
  });

  it("pass over what a server says before its answer", async () => {
    const { segments } = await serve((request, response) => {
      response.writeEarlyHints({ link: "</a>; rel=preload" });
      answered(request, response);
    });
    expect((await segments({})).segments).toEqual([]);
  });

  it("are given up at once where the call is aborted while they are made", async () => {
    const sockets: Socket[] = [];
    const silent = createTcpServer((socket) => sockets.push(socket.on("error", () => undefined).resume()));
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    ends.push(() => silent.close());
    const address = silent.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const abort = new AbortController();
    const { listAllNetworkHistorySegments: segments } = connect(`https://127.0.0.1:${port}`);
    const waiting = failure(segments({}, { signal: abort.signal }));
    while (sockets.length === 0) {
      await turn();
    }
    const closed = sockets.map((socket) => once(socket, "close"));
    abort.abort();
    expect(await waiting).toBeInstanceOf(ConnectError);
    expect((await waiting).code).toBe(Code.Canceled);
    await Promise.all(closed);
  });

  it("are not taken again once they were given up in the middle of the answer", async () => {
    const raw = await startRawHttp();
    ends.push(() => raw.close());
    const large = whole("500 Oops", " ".repeat(1024 * 1024 + 1), { ...JSON_TYPE, connection: "close" });
    raw.answer = () => (raw.requests.length === 1 ? large : whole("200 OK", "{}", JSON_TYPE));
    const { listAllNetworkHistorySegments: segments } = connect(raw.url);
    await failure(segments({}));
    expect((await segments({})).segments).toEqual([]);
  });

  it("do not let a reset pass for the end of an answer", async () => {
    const raw = await startRawHttp();
    ends.push(() => raw.close());
    raw.answer = { pieces: [head("200 OK", JSON_TYPE), "{}"], ending: "reset" };
    const { cause } = await failure(connect(raw.url).listAllNetworkHistorySegments({}));
    expect(cause).toBeInstanceOf(ConnectionError);
    expect(cause).toMatchObject({ connected: true, code: Code.Unavailable });
  });

  it("are lost where the server changes the protocol", async () => {
    const raw = await startRawHttp();
    ends.push(() => raw.close());
    raw.answer = { pieces: [head("101 Switching Protocols")], ending: "keep" };
    const { cause } = await failure(connect(raw.url).listAllNetworkHistorySegments({}));
    expect(cause).toBeInstanceOf(ConnectionError);
  });
});
