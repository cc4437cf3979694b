import { once } from "node:events";
import { chmod, chown, lstat, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import {
  ConnectionError,
  connectSigner,
  FileError,
  PolicyError,
  ProtocolError,
  RequestError,
  type ServeSignerOptions,
  type SignerEvent,
  serveSigner,
  verifySignature,
} from "tradewire";
import { eventually, standsStill } from "../../support/eventually.js";
import { testGuard } from "../../support/served-signer.js";
import { useSignerFolder } from "../../support/signer-socket.js";
import { sender } from "../../support/transactions.js";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";

const message = new TextEncoder().encode("chain-1\0order");
const block = { hash: "07".repeat(32), height: 7n };

const at = useSignerFolder();

const serve = (options: Partial<ServeSignerOptions> = {}) =>
  serveSigner({ guard: testGuard(sender), chainId: "chain-1", listen: at.socket, ...options });

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: unknown) => reason,
  );

/** Something that waits until the test opens it. */
function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let count = 0;
  return {
    pass() {
      count += 1;
      return opened;
    },
    waiting: () => count,
    open: () => open(),
  };
}

/** Sends bytes on a connection of their own, and returns what comes until the server closes it. */
async function raw(bytes: string | Uint8Array, ...more: readonly string[]): Promise<string> {
  const socket = connect(at.socket);
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => parts.push(part));
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  for (const part of [bytes, ...more]) {
    socket.write(part);
  }
  await closed;
  return Buffer.concat(parts).toString();
}

const post = (url: string, body: string, headers = "") =>
  `POST ${url} HTTP/1.1\r\nhost: signer\r\nconnection: close\r\n${headers || `content-length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`;

describe("a signer behind a socket", () => {
  it("signs as the key does", async () => {
    await using _ = await serve();
    await using signer = await connectSigner(at.socket);
    expect(signer.publicKey).toBe(sender.publicKey);
    expect(signer.chainId).toBe("chain-1");
    const signature = await signer.sign(message);
    expect(verifySignature(message, Buffer.from(signature).toString("hex"), sender.publicKey)).toBe(true);
  });

  it("throws the errors of the signer", async () => {
    const events: SignerEvent[] = [];
    await using _ = await serve({ onEvent: (event) => events.push(event) });
    await using signer = await connectSigner(at.socket);
    const error = await failureOf(signer.sign(Uint8Array.of(0, 1)));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({
      summary: "message the policy refuses it",
      advice: "Sign something else.",
      errorCode: "TW_INVALID_ARGUMENT",
    });
    expect(events).toMatchObject([{ type: "refused", error: { summary: "message the policy refuses it" } }]);
  });

  it("throws refusals of a policy with the rule, the limit and the value", async () => {
    const refusal = { rule: "maxSize", limit: "10", value: "12", command: "orderSubmission" };
    const error = new PolicyError({ ...refusal, headline: "the size is 12", advice: "Order less." });
    await using _ = await serve({ guard: testGuard(sender, () => Promise.reject(error)) });
    await using signer = await connectSigner(at.socket);
    const thrown = await failureOf(signer.sign(message));
    expect(thrown).toBeInstanceOf(PolicyError);
    expect(thrown).toMatchObject({ ...refusal, summary: "the size is 12", advice: "Order less." });
  });

  it("says nothing of a failure that is none of the library's", async () => {
    const events: SignerEvent[] = [];
    const secret = "5eed0fa1";
    const guard = testGuard(sender, () => Promise.reject(new Error(secret)));
    await using _ = await serve({ guard, onEvent: (event) => events.push(event) });
    await using signer = await connectSigner(at.socket);
    const error = await failureOf(signer.sign(message));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(String(error)).not.toContain(secret);
    expect(error).toMatchObject({ summary: "the signer failed", connected: false });
    expect(events).toMatchObject([{ type: "failed" }]);
  });

  it("counts the transactions of all programs together", async () => {
    await using _ = await serve();
    await using first = await connectSigner(at.socket);
    await using second = await connectSigner(at.socket);
    const share = await first.takeShare(block);
    expect([share?.count, (await second.takeShare(block))?.count]).toEqual([0, 1]);
    share?.giveBack();
    share?.giveBack();
    await eventually(async () => {
      const next = await second.takeShare(block);
      next?.giveBack();
      return next?.count === 1;
    });
  });

  it("keeps the count of a program that has ended", async () => {
    await using _ = await serve();
    const first = await connectSigner(at.socket);
    await first.takeShare(block);
    await first.close();
    await using second = await connectSigner(at.socket);
    expect((await second.takeShare(block))?.count).toBe(1);
  });

  it("gives no share of a block whose transactions it cannot know", async () => {
    const guard = { ...testGuard(sender), takeShare: () => undefined };
    await using _ = await serve({ guard });
    await using signer = await connectSigner(at.socket);
    expect(await signer.takeShare(block)).toBeUndefined();
  });

  it("lets programs set stricter modes, and the operator each", async () => {
    const events: SignerEvent[] = [];
    const admin = at.admin;
    await using _ = await serve({ admin, onEvent: (event) => events.push(event) });
    await using program = await connectSigner(at.socket);
    await using operator = await connectSigner(admin);
    expect(await program.mode()).toBe("active");
    await program.setMode("reducing");
    const error = await failureOf(program.setMode("active"));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ summary: "the mode is reducing, and programs cannot change it to active" });
    await program.setMode("halted");
    expect(await operator.mode()).toBe("halted");
    await operator.setMode("active");
    expect(await program.mode()).toBe("active");
    expect(events.filter(({ type }) => type === "mode")).toEqual([
      { type: "mode", mode: "reducing", by: "program" },
      { type: "mode", mode: "halted", by: "program" },
      { type: "mode", mode: "active", by: "operator" },
    ]);
  });

  it("halts for all programs by the kill switch, once for several that pull it at a time", async () => {
    const gate = createGate();
    const events: SignerEvent[] = [];
    await using _ = await serve({ guard: testGuard(sender, gate.pass), onEvent: (event) => events.push(event) });
    await using signer = await connectSigner(at.socket);
    const killing = [signer.kill(), signer.kill()];
    await eventually(async () => (await signer.mode()) === "halted");
    await standsStill(gate.waiting);
    gate.open();
    const report = {
      isClear: true,
      cancellations: { sent: 1, executed: 1 },
      orders: [],
      stopOrders: undefined,
      unseen: 0,
      positions: { "6e": "-1.5" },
      problems: [],
    };
    expect(await Promise.all(killing)).toEqual([report, report]);
    expect(events).toEqual([{ type: "killed", report }]);
    expect(await signer.mode()).toBe("halted");
    expect(await signer.kill()).toMatchObject({ cancellations: { sent: 2 } });
  });

  it("says of a kill whose report does not arrive that it may have cancelled orders", async () => {
    const gate = createGate();
    const guard = testGuard(sender, gate.pass);
    const lost = { connected: true, advice: expect.stringContaining("may be canceling") };
    const signer = await (async () => {
      await using server = await serve({ guard });
      const signer = await connectSigner(at.socket);
      expect(await failureOf(signer.kill({ timeoutMs: 100 }))).toMatchObject({ name: "ConnectionError", ...lost });
      const ending = new AbortController();
      const killing = failureOf(signer.kill({ signal: ending.signal }));
      await signer.mode(); // The other request was received before.
      ending.abort();
      expect(await killing).toMatchObject({ name: "CanceledError", mayHaveBeenSent: true });
      const failing = failureOf(signer.kill());
      await signer.mode();
      await server.close(); // Two seconds later, it closes the connection.
      expect(await failing).toMatchObject({ name: "ConnectionError", ...lost });
      return signer;
    })();
    const unsent = await failureOf(signer.kill());
    expect(unsent).toMatchObject({ connected: false, advice: expect.stringContaining("Nothing was sent.") });
    await signer.close();
    gate.open();
  });

  it("kills nothing if the signal was aborted before", async () => {
    const guard = testGuard(sender);
    await using _ = await serve({ guard });
    await using signer = await connectSigner(at.socket);
    const error = await failureOf(signer.kill({ signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ name: "CanceledError", mayHaveBeenSent: false });
    expect([await signer.mode(), guard.kills]).toEqual(["active", 0]);
  });

  it("says of a mode whose response does not arrive that it may have been changed", async () => {
    const other = createServer((request, response) => {
      if (request.url === "/v1/mode") {
        request.socket.destroy();
      } else {
        response.end(JSON.stringify({ publicKey: sender.publicKey, chainId: "chain-1", mode: "active" }));
      }
    });
    await new Promise<void>((resolve) => other.listen(at.socket, resolve));
    const signer = await connectSigner(at.socket);
    expect(await failureOf(signer.setMode("halted"))).toMatchObject({
      connected: true,
      advice: expect.stringContaining("The mode may have changed"),
    });
    await signer.close();
    await new Promise((resolve) => other.close(resolve));
  });

  it("waits longer for the report of the kill switch than the signer takes", async () => {
    await using _ = await serve();
    await using signer = await connectSigner(at.socket);
    const limits: number[] = [];
    using __ = useRuntime({
      startTimer(callback, ms, options) {
        limits.push(ms);
        return nodeRuntime.startTimer(callback, ms, options);
      },
    });
    await signer.kill();
    expect(Math.max(...limits)).toBe(315_000);
  });

  it("returns the report of a kill that left thousands of orders", async () => {
    const orders = Array.from({ length: 20_000 }, (_, index) => index.toString(16).padStart(64, "0"));
    const guard = testGuard(sender);
    const report = await guard.kill();
    const kill = async () => ({ ...report, isClear: false, orders });
    await using _ = await serve({ guard: { ...testGuard(sender), kill } });
    await using signer = await connectSigner(at.socket);
    expect((await signer.kill()).orders).toEqual(orders);
  });

  it("ends the wait for a signature with the time and says that nothing was sent", async () => {
    const gate = createGate();
    await using _ = await serve({ guard: testGuard(sender, gate.pass) });
    await using signer = await connectSigner(at.socket, { timeoutMs: 100 });
    expect(await failureOf(signer.sign(message))).toMatchObject({
      name: "ConnectionError",
      connected: false,
      summary: expect.stringContaining("did not respond within 100 ms"),
      advice: expect.stringContaining("Nothing was sent"),
    });
    gate.open();
  });

  it("is refused after close", async () => {
    await using _ = await serve();
    const signer = await connectSigner(at.socket);
    await signer.close();
    expect(await failureOf(signer.sign(message))).toMatchObject({ name: "ConnectionError", isClosed: true });
  });
});

describe("a signer that ends", () => {
  it("fails calls until it is started again", async () => {
    const first = await serve();
    await using signer = await connectSigner(at.socket);
    await signer.sign(message);
    await first.close();
    const error = await failureOf(signer.sign(message));
    expect(error).toMatchObject({
      name: "ConnectionError",
      connected: false,
      summary: expect.stringContaining("no signer is listening on"),
      advice: expect.stringContaining("Nothing was sent"),
    });
    await using _ = await serve();
    expect(await signer.sign(message)).toHaveLength(64);
  });

  it("signs no more for a program if it has another key now", async () => {
    const first = await serve();
    await using signer = await connectSigner(at.socket);
    await first.close();
    const other = { ...testGuard(sender), publicKey: "ab".repeat(32) };
    await using _ = await serve({ guard: other });
    expect(await failureOf(signer.sign(message))).toMatchObject({
      name: "RequestError",
      summary: `the signer uses the key ${"ab".repeat(32)}, not ${sender.publicKey}`,
    });
    expect(other.signed).toEqual([]);
  });

  it("removes its socket, and waits for signatures that are being made", async () => {
    const gate = createGate();
    const server = await serve({ guard: testGuard(sender, gate.pass) });
    await using signer = await connectSigner(at.socket);
    const signing = signer.sign(message);
    await eventually(() => gate.waiting() === 1);
    const closing = server.close();
    gate.open();
    expect(await signing).toHaveLength(64);
    await closing;
    expect(await readdir(at.folder)).toEqual([]);
  });
});

describe("the socket", () => {
  it("is the user's alone", async () => {
    await using _ = await serve();
    const { mode } = await lstat(at.socket);
    expect(mode & 0o777).toBe(0o600);
    expect((await readdir(at.folder)).sort()).toEqual(["s.sock", "s.sock.lock"]);
  });

  it("is not taken from a signer that runs", async () => {
    await using _ = await serve();
    const error = await failureOf(serve());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      summary: expect.stringContaining("is already listening on"),
      advice: expect.stringContaining("stop it,"),
    });
    await using signer = await connectSigner(at.socket);
    expect(await signer.mode()).toBe("active");
  });

  it("is not taken from another program that listens there", async () => {
    const other: Server = createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => other.listen(at.socket, resolve));
    expect(await failureOf(serve())).toMatchObject({
      summary: expect.stringContaining("another process is already listening on"),
    });
    expect(await failureOf(connectSigner(at.socket))).toBeInstanceOf(ProtocolError);
    await new Promise((resolve) => other.close(resolve));
  });

  it("replaces nothing but sockets", async () => {
    await writeFile(at.socket, "mine");
    expect(await failureOf(serve())).toMatchObject({
      name: "FileError",
      summary: expect.stringContaining("is not a socket"),
    });
    await rm(at.socket);
    await symlink("/dev/null", at.socket);
    expect(await failureOf(serve())).toMatchObject({
      name: "FileError",
      summary: expect.stringContaining("is not a socket"),
    });
  });

  it.each([0o777, 0o1777, 0o720])("is refused in a folder of mode %i, which others can write to", async (mode) => {
    const open = join(at.folder, "open");
    await mkdir(open);
    await chmod(open, mode);
    const error = await failureOf(serve({ listen: join(open, "s.sock") }));
    expect(error).toBeInstanceOf(FileError);
    expect(error).toMatchObject({ summary: expect.stringContaining("so others could replace the socket") });
    expect(await readdir(open)).toEqual([]);
  });

  it("is refused by a program if others could replace it", async () => {
    const open = join(at.folder, "open");
    await mkdir(open);
    await using _ = await serve({ listen: join(open, "s.sock") });
    await chmod(open, 0o777);
    expect(await failureOf(connectSigner(join(open, "s.sock")))).toMatchObject({
      name: "FileError",
      summary: expect.stringContaining("so the signer may belong to another user"),
    });
  });

  // Only root can give a socket to another user.
  (process.getuid?.() === 0 ? it : it.skip)("is refused by a program if it is another user's", async () => {
    await using _ = await serve();
    await chown(at.socket, 12_345, 12_345);
    expect(await failureOf(connectSigner(at.socket))).toMatchObject({
      name: "FileError",
      summary: expect.stringContaining("another user (uid 12345) owns it"),
    });
  });

  it("needs a at.folder, and a short path", async () => {
    expect(await failureOf(serve({ listen: join(at.folder, "none", "s.sock") }))).toMatchObject({ name: "FileError" });
    expect(await failureOf(serve({ listen: join(at.folder, "s".repeat(90)) }))).toMatchObject({
      name: "RequestError",
      advice: expect.stringContaining("shorter path"),
    });
    expect(await failureOf(connectSigner(at.socket))).toMatchObject({
      summary: expect.stringContaining("no signer is listening on"),
    });
  });

  it("leaves nothing behind if the second one cannot be opened", async () => {
    await writeFile(at.admin, "mine");
    await failureOf(serve({ admin: at.admin }));
    expect(await readdir(at.folder)).toEqual(["admin.sock"]);
  });
});

describe("a hostile program", () => {
  it.each([
    ["no JSON", post("/v1/sign", "{"), 400],
    ["another form", post("/v1/sign", '{"message":1}'), 422],
    ["an unknown key", post("/v1/mode", '{"mode":"halted","more":1}'), 422],
    ["an unknown mode", post("/v1/mode", '{"mode":"off"}'), 422],
    ["no base64", post("/v1/sign", `{"publicKey":"${sender.publicKey}","message":"*"}`), 422],
    ["an unknown path", post("/v1/key", "{}"), 404],
    ["a name of objects", post("constructor", "{}"), 400],
    ["an inherited name", post("/__proto__", "{}"), 404],
    ["another method", "DELETE /v1/sign HTTP/1.1\r\nhost: x\r\n\r\n", 405],
    ["no HTTP", "hello\r\n\r\n", 400],
    ["a large head", `GET /v1/signer HTTP/1.1\r\nx: ${"x".repeat(10_000)}\r\n\r\n`, 431],
    ["an announced large body", post("/v1/sign", "", "content-length: 100000000\r\n"), 413],
  ])("gets no signature by %s", async (_, bytes, status) => {
    const guard = testGuard(sender);
    await using server = await serve({ guard });
    expect(await raw(bytes)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(guard.signed).toEqual([]);
    expect(guard.mode).toBe("active");
    expect(server).toBeDefined();
  });

  it("gets no further than the maximum size of a body", async () => {
    const guard = testGuard(sender);
    await using _ = await serve({ guard });
    const answer = await raw(
      post("/v1/sign", "", "transfer-encoding: chunked\r\n"),
      ...Array.from({ length: 40 }, () => `10000\r\n${"x".repeat(0x10000)}\r\n`),
    );
    expect(answer === "" || answer.startsWith("HTTP/1.1 413")).toBe(true);
    expect(guard.signed).toEqual([]);
  });

  it("does not keep others waiting by a thousand connections, slow or silent", async () => {
    await using _ = await serve();
    await using signer = await connectSigner(at.socket);
    const sockets: Socket[] = [];
    for (let index = 0; index < 1000; index += 1) {
      const socket = connect(at.socket);
      socket.on("error", () => undefined);
      socket.resume();
      socket.write(index % 2 === 0 ? "POST /v1/sign HTTP/1.1\r\ncontent-length: 10\r\n\r\n{" : "");
      sockets.push(socket);
      if (index % 100 === 0) {
        expect(await signer.sign(message)).toHaveLength(64);
      }
    }
    expect(await signer.sign(message)).toHaveLength(64);
    await eventually(() => sockets.filter((socket) => !socket.closed).length <= 128);
    for (const socket of sockets) {
      socket.destroy();
    }
  });

  it("does not keep others waiting, or `kill`, by 64 connections with half a request that it opens again and again", async () => {
    const guard = testGuard(sender);
    await using _ = await serve({ guard });
    const half = "POST /v1/kill HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{";
    const sockets: Socket[] = [];
    const reopen = async () => {
      for (const socket of sockets.splice(0)) {
        socket.destroy();
      }
      const received: Promise<unknown>[] = [];
      for (let index = 0; index < 64; index += 1) {
        const socket = connect(at.socket);
        socket.on("error", () => undefined);
        received.push(Promise.race([once(socket, "data"), once(socket, "close")])); // The signer has its head.
        socket.write(half);
        sockets.push(socket);
      }
      await Promise.all(received);
    };
    await using program = await connectSigner(at.socket);
    for (let round = 0; round < 10; round += 1) {
      await reopen();
      await using other = await connectSigner(at.socket);
      const signers = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? program : other));
      await Promise.all([...signers.map((signer) => signer.sign(message)), reopen()]);
    }
    expect(guard.signed).toHaveLength(100);
    await reopen();
    expect(await program.kill()).toMatchObject({ isClear: true });
    await using last = await connectSigner(at.socket);
    expect(await last.kill()).toMatchObject({ isClear: true });
    expect(await last.mode()).toBe("halted");
    for (const socket of sockets) {
      socket.destroy();
    }
  });

  it("does not keep `kill` and modes waiting by as many signatures as the signer makes", async () => {
    const gate = createGate();
    const guard = testGuard(sender);
    await using _ = await serve({ guard: Object.assign(testGuard(sender, gate.pass), { kill: guard.kill }) });
    await using program = await connectSigner(at.socket);
    await using second = await connectSigner(at.socket);
    await using third = await connectSigner(at.socket);
    await using fourth = await connectSigner(at.socket);
    const signing = [program, second, third, fourth].flatMap((signer) =>
      Array.from({ length: 16 }, () => signer.sign(message)),
    );
    await eventually(() => gate.waiting() === 64);
    await program.setMode("reducing");
    expect(await program.kill()).toMatchObject({ isClear: true });
    await using other = await connectSigner(at.socket);
    expect(await other.kill()).toMatchObject({ isClear: true });
    expect(await failureOf(other.sign(message))).toMatchObject({
      summary: expect.stringContaining("has too many requests"),
    });
    gate.open();
    expect(await Promise.all(signing)).toHaveLength(64);
  });

  it("keeps no other program from `kill` by many that wait for its report", async () => {
    const gate = createGate();
    const guard = testGuard(sender, gate.pass);
    await using _ = await serve({ guard });
    const sockets: Socket[] = [];
    for (let index = 0; index < 100; index += 1) {
      const socket = connect(at.socket).resume();
      socket.on("error", () => undefined);
      socket.write(post("/v1/kill", "{}"));
      sockets.push(socket);
    }
    const open = () => sockets.filter(({ closed }) => !closed).length;
    await eventually(() => open() === 16);
    await using signer = await connectSigner(at.socket);
    const killing = signer.kill();
    await eventually(() => open() === 15);
    gate.open();
    expect(await killing).toMatchObject({ cancellations: { sent: 1 } });
  });

  it("has 128 connections without a complete request, of which the one that waited longest is closed for a new one", async () => {
    await using _ = await serve();
    const request = "GET /v1/signer HTTP/1.1\r\nhost: x\r\n\r\n";
    /** Opens a connection, and waits until a request on it was answered. */
    const open = async () => {
      const socket = connect(at.socket);
      socket.on("error", () => undefined);
      socket.write(request);
      await once(socket, "data");
      return socket;
    };
    const sockets: Socket[] = [];
    for (let index = 0; index < 128; index += 1) {
      sockets.push(await open());
    }
    const closed = () => sockets.flatMap((socket, index) => (socket.closed ? [index] : []));
    await standsStill(() => closed().length);
    expect(closed()).toEqual([]);
    const more = await open();
    await eventually(() => closed().length > 0);
    await standsStill(() => closed().length);
    expect(closed()).toEqual([0]);
    for (const socket of [...sockets, more]) {
      socket.destroy();
    }
  });

  it("does not keep a connection open without a request", async () => {
    await using _ = await serve();
    expect(await raw("")).toMatch(/^(HTTP\/1.1 408 .*)?/s);
    expect(await raw("POST /v1/sign HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{")).toMatch(/^HTTP\/1.1 408 /);
  }, 40_000);

  it("gets an error, and no unbounded work, by sending many requests at once on a connection", async () => {
    const gate = createGate();
    await using _ = await serve({ guard: testGuard(sender, gate.pass) });
    const socket = connect(at.socket);
    socket.on("error", () => undefined);
    const body = JSON.stringify({ publicKey: sender.publicKey, message: Buffer.from(message).toString("base64") });
    const request = `POST /v1/sign HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    socket.resume();
    socket.write(request.repeat(5000));
    await eventually(() => gate.waiting() === 64);
    await standsStill(gate.waiting);
    expect(gate.waiting()).toBe(64);
    gate.open();
    socket.destroy();
  });

  it("cannot give back a share that another program has taken", async () => {
    await using _ = await serve();
    await using signer = await connectSigner(at.socket);
    await signer.takeShare(block);
    expect(await raw(post("/v1/returns", '{"id":"00000000-0000-0000-0000-000000000000"}'))).toContain("200 OK");
    expect((await signer.takeShare(block))?.count).toBe(1);
  });
});

it("a socket that answers too much is refused", async () => {
  const other = createServer((_, response) => response.end("x".repeat(17_000_000)));
  await new Promise<void>((resolve) => other.listen(at.socket, resolve));
  expect(await failureOf(connectSigner(at.socket))).toMatchObject({ name: "ProtocolError" });
  await new Promise((resolve) => other.close(resolve));
});

it("a request is repeated on a new connection if its connection was closed before it was answered", async () => {
  const served: string[] = [];
  const sockets = new Set<unknown>();
  const other = createServer((request, response) => {
    const isReused = sockets.has(request.socket);
    sockets.add(request.socket);
    served.push(`${request.url} ${isReused ? "again" : "first"}`);
    if (isReused) {
      request.socket.destroy();
    } else {
      response.end(JSON.stringify({ publicKey: sender.publicKey, chainId: "chain-1", mode: "reducing" }));
    }
  });
  await new Promise<void>((resolve) => other.listen(at.socket, resolve));
  await using signer = await connectSigner(at.socket);
  expect(await signer.mode()).toBe("reducing");
  expect(served).toEqual(["/v1/signer first", "/v1/signer again", "/v1/signer first"]);
  await signer.close();
  await new Promise((resolve) => other.close(resolve));
});
