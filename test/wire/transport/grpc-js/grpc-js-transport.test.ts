import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { BytesValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, type HandlerContext } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { ClosableTransport } from "tradewire";
import { createGrpcJsTransport, type GrpcJsTransportOptions } from "tradewire/transport";
import { freePort } from "../../../support/free-port.mjs";
import { join, say, send, talk } from "../../../support/probe.js";
import { envelope, serveRoutes, serveRoutesOverTls, serveStreams, type TestServer } from "../../../support/servers.js";

const MIB = 1024 * 1024;
process.env["no_grpc_proxy"] = "127.0.0.1,localhost,node.invalid"; // Whatever proxy this machine has.
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).reverse()) {
    await each.close();
  }
});

function closing<T extends { close(): Promise<void> }>(value: T): T {
  open.push(value);
  return value;
}

function transportTo({ url }: Pick<TestServer, "url">, more: Partial<GrpcJsTransportOptions> = {}): ClosableTransport {
  return closing(createGrpcJsTransport({ url, ...more }));
}

const one = (value: string) => createAsyncIterable([{ value }]);

async function probe(): Promise<TestServer> {
  return closing(
    await serveRoutes((router) => {
      router.rpc(say, ({ value }, context: HandlerContext) => {
        context.responseHeader.set("x-heard", context.requestHeader.get("x-said") ?? "");
        context.responseHeader.set("x-heard-bin", context.requestHeader.get("x-said-bin") ?? "");
        context.responseTrailer.set("x-last", "yes");
        context.responseTrailer.set("x-last-bin", "AP8");
        return { value: `${value}, ${context.requestHeader.get("grpc-timeout") === null ? "no hurry" : "in time"}` };
      });
      router.rpc(send, async function* ({ value }) {
        for (let count = 0; count < Number(value); count += 1) {
          yield { value: Uint8Array.of(count) };
        }
      });
      router.rpc(join, async (texts) => {
        const all: string[] = [];
        for await (const { value } of texts) {
          all.push(value);
        }
        return { value: all.join(" ") };
      });
      router.rpc(talk, async function* (texts) {
        for await (const { value } of texts) {
          yield { value: value.toUpperCase() };
        }
      });
    }),
  );
}

describe("calls", () => {
  test("one message is answered by one, with metadata both ways", async () => {
    const transport = transportTo(await probe());
    const header = { "x-said": "so", "x-said-bin": "AAECAw==" };

    const answer = await transport.unary(say, undefined, undefined, header, { value: "hello" });

    expect(answer.message.value).toBe("hello, in time");
    expect(answer.header.get("x-heard")).toBe("so");
    expect(answer.header.get("x-heard-bin")).toBe("AAECAw");
    expect(answer.trailer.get("x-last")).toBe("yes");
    expect(answer.trailer.get("x-last-bin")).toBe("AP8");
  });

  test("the node is told how much time there is", async () => {
    const transport = transportTo(await probe());

    const answer = await transport.unary(say, undefined, 30_000, undefined, { value: "hello" });

    expect(answer.message.value).toBe("hello, in time");
  });

  test.each([0, 1, 100])("one message is answered by a stream of %i", async (count) => {
    const transport = transportTo(await probe());

    const answer = await transport.stream(send, undefined, undefined, undefined, one(String(count)));
    const bytes: number[] = [];
    for await (const { value } of answer.message) {
      bytes.push(...value);
    }

    expect(bytes).toEqual(Array.from({ length: count }, (_, index) => index));
  });

  test("a stream is answered by one message", async () => {
    const transport = transportTo(await probe());
    const texts = createAsyncIterable(["a", "b", "c"].map((value) => ({ value })));

    const answer = await transport.stream(join, undefined, undefined, undefined, texts);
    const answers: string[] = [];
    for await (const { value } of answer.message) {
      answers.push(value);
    }

    expect(answers).toEqual(["a b c"]);
  });

  test("a stream is answered by a stream, message by message", async () => {
    const transport = transportTo(await probe());
    let heard = (_: string) => {};
    const answers: string[] = [];

    async function* texts() {
      for (const value of ["a", "b", "c"]) {
        const answered = new Promise<string>((resolve) => {
          heard = resolve;
        });
        yield { value };
        answers.push(await answered);
      }
    }
    const answer = await transport.stream(talk, undefined, undefined, undefined, texts());
    for await (const { value } of answer.message) {
      heard(value);
    }

    expect(answers).toEqual(["A", "B", "C"]);
  });

  test("a header that gRPC cannot carry is named, and nothing is sent", async () => {
    const server = await probe();
    const call = transportTo(server).unary(say, undefined, undefined, { "x-name": "\u00e9" }, { value: "hello" });

    await expect(call).rejects.toThrow("the header x-name cannot be sent as gRPC metadata");
    expect(server.sessions).toHaveLength(0);
  });
});

describe("flow", () => {
  test("windows are as configured, of the stream and of the connection", async () => {
    const server = await probe();
    const transport = transportTo(server, { windowBytes: 5 * MIB });
    await transport.unary(say, undefined, undefined, undefined, { value: "hello" });

    const [session] = server.sessions;
    expect(session?.remoteSettings.initialWindowSize).toBe(5 * MIB);
    const used = 5 * MIB - (session?.state.remoteWindowSize ?? 0); // The answer's bytes, not given back yet.
    expect(used).toBeGreaterThanOrEqual(0);
    expect(used).toBeLessThan(100);
  });

  test("a node is ahead of a slow reader by no more than the window and a few messages", async () => {
    const message = envelope(toBinary(BytesValueSchema, create(BytesValueSchema, { value: new Uint8Array(MIB) })));
    let sent = 0;
    const server = closing(
      await serveStreams((stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        const next = () => {
          sent += 1;
          if (sent === 64) {
            stream.end(message);
          } else {
            stream.write(message, next);
          }
        };
        next();
      }),
    );
    const transport = transportTo(server, { windowBytes: 4 * MIB });

    const answer = await transport.stream(send, undefined, undefined, undefined, one("64"));
    await standstill(server, () => sent);
    expect(sent).toBeGreaterThan(1);
    expect(sent).toBeLessThan(10);

    let received = 0;
    for await (const { value } of answer.message) {
      received += value.length;
    }
    expect(received).toBe(64 * MIB);
  });
});

/** Resolves when a figure stays as it is while pings go to and fro: whatever could be sent was, and was received. */
async function standstill({ sessions: [session] }: TestServer, figure: () => number): Promise<void> {
  for (let same = 0, last = -1; same < 10; ) {
    await new Promise<void>((resolve) => session?.ping(() => resolve()));
    same = figure() === last ? same + 1 : 0;
    last = figure();
  }
}

describe("ending early", () => {
  /** A server whose streams never end, and what became of the first one. */
  async function endless(): Promise<TestServer & { readonly called: Promise<void>; readonly closed: Promise<number> }> {
    let call = () => {};
    const called = new Promise<void>((resolve) => {
      call = resolve;
    });
    let close = (_: number) => {};
    const closed = new Promise<number>((resolve) => {
      close = resolve;
    });
    const server = await serveStreams((stream) => {
      call();
      stream.on("close", () => close(stream.rstCode));
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.write(envelope(toBinary(BytesValueSchema, create(BytesValueSchema, { value: Uint8Array.of(1) }))));
    });
    return closing({ ...server, called, closed });
  }
  const CANCEL = 8;

  test("a deadline ends a call, and the node is told", async () => {
    const server = await endless();
    const transport = transportTo(server);
    let isCalled = false;
    const called = server.called.then(() => {
      isCalled = true;
    });

    // A deadline may pass before the call has reached the node.
    for (let timeoutMs = 50; !isCalled; timeoutMs *= 2) {
      const call = transport.unary(say, undefined, timeoutMs, undefined, { value: "hello" });
      await expect(call).rejects.toMatchObject({ code: Code.DeadlineExceeded });
      await expect(call.catch((error) => error.metadata.has("grpc-status"))).resolves.toBe(false);
    }
    await called;
    await expect(server.closed).resolves.toBe(CANCEL);
  });

  test("a signal ends a call before the header, and the node is told", async () => {
    const server = await endless();
    const controller = new AbortController();
    const call = transportTo(server).unary(say, controller.signal, undefined, undefined, { value: "hello" });
    void server.called.then(() => controller.abort());

    await expect(call).rejects.toMatchObject({ code: Code.Canceled });
    await expect(server.closed).resolves.toBe(CANCEL);
  });

  test("a signal that was aborted before lets nothing out", async () => {
    const server = await endless();
    const call = transportTo(server).unary(say, AbortSignal.abort(), undefined, undefined, { value: "hello" });

    await expect(call).rejects.toMatchObject({ code: Code.Canceled });
    expect(server.sessions).toHaveLength(0);
  });

  test("a signal ends a stream, and the node is told", async () => {
    const server = await endless();
    const controller = new AbortController();
    const answer = await transportTo(server).stream(send, controller.signal, undefined, undefined, one("1"));

    const reading = (async () => {
      for await (const _ of answer.message) {
        controller.abort();
      }
    })();

    await expect(reading).rejects.toMatchObject({ code: Code.Canceled });
    await expect(server.closed).resolves.toBe(CANCEL);
  });

  test("a reader that stops ends a stream, and the node is told", async () => {
    const server = await endless();
    const answer = await transportTo(server).stream(send, undefined, 100_000, undefined, one("1"));
    for await (const _ of answer.message) {
      break;
    }

    await expect(server.closed).resolves.toBe(CANCEL);
  });

  test("a request stream that throws ends a call with its error, and the node is told", async () => {
    const server = await endless();
    let answered = () => {};
    const answer = new Promise<void>((resolve) => {
      answered = resolve;
    });
    async function* texts() {
      yield { value: "so far" };
      await answer;
      throw new Error("no more words");
    }
    const response = await transportTo(server).stream(talk, undefined, undefined, undefined, texts());
    answered();

    const messages = response.message[Symbol.asyncIterator]();
    const reading = messages.next().then(() => messages.next());
    await expect(reading).rejects.toThrow("no more words");
    await expect(server.closed).resolves.toBe(CANCEL);
  });

  test("closing the transport ends its calls, and no more are made", async () => {
    const server = await endless();
    const transport = transportTo(server);
    const answer = await transport.stream(send, undefined, undefined, undefined, one("1"));
    await transport.close();

    await expect(answer.message[Symbol.asyncIterator]().next()).rejects.toThrow(
      "the client was closed during the call",
    );
    await expect(server.closed).resolves.toBe(CANCEL);
    const further = transport.unary(say, undefined, undefined, undefined, { value: "hello" });
    await expect(further).rejects.toThrow("the client is closed, so nothing was sent");
  });
});

describe("connections", () => {
  test.each(["127.0.0.1", "[::1]"])(
    "where nobody answers at %s the other address is taken, under the name in the URL",
    async (host) => {
      const server = await probe();
      const names: (string | undefined)[] = [];
      const addresses = [`${host}:${await freePort()}`, `127.0.0.1:${server.port}`];
      const transport = transportTo({ url: "http://node.example:3007" }, { addresses });
      await transport.unary(say, undefined, undefined, undefined, { value: "hello" });
      server.sessions[0]?.on("stream", (_, headers) => names.push(headers[":authority"]));

      for (let count = 0; count < 4; count += 1) {
        const { message } = await transport.unary(say, undefined, undefined, undefined, { value: "hello" });
        expect(message.value).toBe("hello, in time");
      }
      expect(names).toEqual(Array(4).fill("node.example:3007"));
    },
  );

  test("two addresses take turns", async () => {
    const servers = [await probe(), await probe()];
    const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
    const transport = transportTo({ url: "http://node.example" }, { addresses });
    for (let count = 0; count < 20; count += 1) {
      await transport.unary(say, undefined, undefined, undefined, { value: "hello" });
    }

    expect(servers.map(({ sessions }) => sessions.length)).toEqual([1, 1]);
  });

  test.each([
    ["its name in the URL, its address in addresses", "node.example", {}],
    ["its name in tls.serverName", "localhost", { serverName: "node.example" }],
  ])("a node behind TLS is believed by %s", async (_, host, name) => {
    const server = closing(await serveRoutesOverTls((router) => router.rpc(say, ({ value }) => ({ value }))));
    const caFile = fileURLToPath(new URL("../../../support/tls/cert.pem", import.meta.url));
    const addresses = [`127.0.0.1:${server.port}`];
    const transport = transportTo(
      { url: `https://${host}:${server.port}` },
      { tls: { caFile, ...name }, ...(host === "node.example" && { addresses }) },
    );

    const call = transport.unary(say, undefined, undefined, undefined, { value: "hello" });
    await expect(call).resolves.toMatchObject({ message: { value: "hello" } });
  });

  test("a node behind TLS is sent its name, and none where it is called by its address", async () => {
    const server = closing(await serveRoutesOverTls((router) => router.rpc(say, ({ value }) => ({ value }))));
    const caFile = fileURLToPath(new URL("../../../support/tls/cert.pem", import.meta.url));
    const addresses = [`127.0.0.1:${server.port}`];
    const byAddress = transportTo({ url: `https://127.0.0.1:${server.port}` }, { tls: { caFile } });
    await expect(byAddress.unary(say, undefined, undefined, undefined, {})).rejects.toThrow(
      "the server's certificate is for another hostname",
    );
    const named = transportTo({ url: "https://node.example" }, { tls: { caFile }, addresses });
    await named.unary(say, undefined, undefined, undefined, {});
    expect(server.names).toEqual(["node.example"]);
  });

  test("a node that comes back is found by the next call", async () => {
    const port = await freePort();
    let server = await serveRoutes((router) => router.rpc(say, ({ value }) => ({ value })), port);
    await server.close();
    const transport = transportTo({ url: `http://127.0.0.1:${port}` });
    const call = () => transport.unary(say, undefined, undefined, undefined, { value: "hello" });
    await expect(call()).rejects.toMatchObject({ code: Code.Unavailable });

    server = closing(await serveRoutes((router) => router.rpc(say, ({ value }) => ({ value })), port));
    await expect(call()).resolves.toMatchObject({ message: { value: "hello" } });
  });

  test("a transport that was closed does not connect again where it could not before", async () => {
    const port = await freePort();
    const transport = transportTo({ url: `http://127.0.0.1:${port}` });
    const call = transport.unary(say, undefined, undefined, undefined, { value: "hello" });
    await expect(call).rejects.toMatchObject({ code: Code.Unavailable });
    await transport.close();

    const server = closing(await serveRoutes((router) => router.rpc(say, ({ value }) => ({ value })), port));
    await sleep(1500); // grpc-js tries again a second after a connection failed, give or take a fifth.
    expect(server.sessions.length).toBe(0);
  });

  test.each([
    ["after the transport is closed", "await transport.close();"],
    ["with a transport that nobody closed", ""],
  ])("a process ends %s", async (_, last) => {
    const server = await probe();
    const script = `
      import { createGrpcJsTransport } from "tradewire/transport";
      import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
      const transport = createGrpcJsTransport({ url: "${server.url}", timeouts: { connectMs: 100_000 } });
      const method = TradingDataService.method.listAllNetworkHistorySegments;
      const failure = await transport.unary(method, undefined, 100_000, undefined, {}).catch((error) => error);
      console.log(failure.message);
      ${last}
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      env: process.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const output = child.stdout.setEncoding("utf8").toArray();

    const [code] = await once(child, "close");
    expect(code).toBe(0);
    expect((await output).join("")).toMatch(/^\[unimplemented\]/);
    expect(server.sessions).toHaveLength(1);
  });
});
