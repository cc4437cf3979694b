import { once } from "node:events";
import { get } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, expect, it } from "@jest/globals";
import { createSyncState, startWatch } from "tradewire/sync";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) {
    await close();
  }
});

it("answers /healthz beside 200 connections that never send a whole request", async () => {
  const watch = await startWatch({ listen: "127.0.0.1:0", state: createSyncState() });
  closers.push(() => watch.close());
  const port = Number(new URL(watch.url).port);
  const keptAlive = connect(port, "127.0.0.1");
  closers.push(() => keptAlive.destroy());
  keptAlive.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(String((await once(keptAlive, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
  for (let count = 0; count < 200; count += 1) {
    const half = connect(port, "127.0.0.1").on("error", () => undefined);
    closers.push(() => half.destroy());
    await once(half, "connect");
    half.write(count % 2 === 0 ? "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " : "");
    if (count % 50 === 49) {
      // By a connection of its own, as probes have.
      const asked = get(`${watch.url}/healthz`, { agent: false });
      const [answer] = await once(asked, "response");
      expect(answer.statusCode).toBe(200);
      answer.resume();
    }
  }
});

it("answers /healthz while 64 connections that send half a request are opened at once, again and again", async () => {
  const watch = await startWatch({ listen: "127.0.0.1:0", state: createSyncState() });
  closers.push(() => watch.close());
  const port = Number(new URL(watch.url).port);
  const open: Socket[] = [];
  for (let round = 0; round < 10; round += 1) {
    for (const half of open.splice(0)) {
      half.destroy();
    }
    const asked = get(`${watch.url}/healthz`, { agent: false });
    for (let count = 0; count < 64; count += 1) {
      const half = connect(port, "127.0.0.1").on("error", () => undefined);
      closers.push(() => half.destroy());
      half.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nX-Slow: ");
      open.push(half);
    }
    const [answer] = await once(asked, "response");
    expect(answer.statusCode).toBe(200);
    answer.resume();
  }
});
