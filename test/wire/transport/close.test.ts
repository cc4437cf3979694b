import { afterEach, describe, expect, it } from "@jest/globals";
import { type CallEnd, type Client, ConnectionError, createClient, OutcomeUnknownError } from "tradewire";
import { eventually } from "../../support/eventually.js";
import { startGrpcServer } from "../../support/grpc-server.js";
import { startRawHttp } from "../../support/raw-http.js";

const names = ["grpc", "grpc-js", "rest", "auto"] as const;
const range = { table: "trades", fromBlock: 1, toBlock: 1000 } as const;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** A node that takes requests and answers nothing, and a client of it. */
async function silent(transport: (typeof names)[number]) {
  const [grpc, rest] = await Promise.all([startGrpcServer(), startRawHttp()]);
  closing.push(
    () => grpc.close(),
    () => rest.close(),
  );
  grpc.answer = { ending: "keep" };
  rest.answer = { pieces: [], ending: "keep" };
  const ends: CallEnd[] = [];
  const hooks = { onCallEnd: (_: unknown, end: CallEnd) => ends.push(end) };
  const client = createClient({ transport, grpc: { url: grpc.url }, rest: { url: rest.url } }, { hooks });
  closing.push(() => client.close());
  const count = () => grpc.calls.length + rest.requests.length;
  return { client, ends, count, sockets: () => [...grpc.calls.map(({ closed }) => closed)] };
}

function calls(client: Client) {
  return [
    client.listSegments(),
    client.submitTransaction({ tx: {} }),
    client.exportNetworkHistory(range).toZip(),
    client.lastBlockHeight(),
  ].map((call) => call.then(String, (reason: unknown) => reason));
}

describe("close()", () => {
  it.each(names)("ends calls under way at once, and refuses later ones (%s)", async (name) => {
    const { client, ends, count, sockets } = await silent(name);
    const underWay = calls(client);
    await eventually(() => count() === underWay.length);
    await client.close();
    const failures = await Promise.all(underWay);
    const later = await Promise.all(calls(client));
    for (const failure of failures) {
      expect(String(failure)).toContain("the client was closed during the call");
    }
    expect(failures[0]).toBeInstanceOf(ConnectionError);
    expect(failures[1]).toBeInstanceOf(OutcomeUnknownError);
    expect(failures[0]).toMatchObject({ transport: name, connected: true });
    for (const failure of later) {
      expect(failure).toBeInstanceOf(ConnectionError);
      expect(String(failure)).toContain("the client is closed, so nothing was sent");
      expect(failure).toMatchObject({ connected: false });
    }
    await client.close();
    expect(count()).toBe(underWay.length);
    expect(ends.map(({ error }) => error?.summary.slice(0, 37))).toEqual(
      failures.map(() => "the client was closed during the call"),
    );
    await Promise.all(sockets());
  });

  it.each(names)("ends a stream that is being read (%s)", async (name) => {
    const { client, ends, count } = await silent(name);
    const bytes = client.exportNetworkHistory(range).bytes()[Symbol.asyncIterator]();
    const next = bytes.next().then(String, (reason: unknown) => reason);
    await eventually(() => count() > 0);
    await client.close();
    expect(String(await next)).toContain("the client was closed during the call");
    expect(ends).toHaveLength(1);
  });
});
