// Slow, and worth it: whether calls are never refused shows against a node that really counts them.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
  BannedError,
  type Client,
  type ClientConfig,
  createClient,
  type Hooks,
  NodeError,
  type RetryInfo,
  type TradewireError,
  type WaitInfo,
} from "tradewire";
import type { RateLimit } from "tradewire/devnode";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { eventually } from "../../support/eventually.js";
import { type LimitedNode, serveLimited } from "../../support/limited-node.js";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) {
    await thing[Symbol.asyncDispose]();
  }
});

async function limitedNode(rateLimit: RateLimit): Promise<LimitedNode> {
  const node = await serveLimited(rateLimit);
  open.push(node);
  return node;
}

function recorded() {
  const seen = { waits: [] as WaitInfo[], retries: [] as RetryInfo[] };
  const hooks: Hooks = {
    onWait: (wait) => seen.waits.push(wait),
    onRetry: (retry) => seen.retries.push(retry),
  };
  return { seen, hooks };
}

function connect(config: ClientConfig, hooks: Hooks = {}): Client {
  const client = createClient(config, { hooks });
  open.push(client);
  return client;
}

/** Make calls, so many at once. */
async function callMany(count: number, atOnce: number, call: () => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

async function failureOf(promise: Promise<unknown>): Promise<TradewireError> {
  return promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: TradewireError) => reason,
  );
}

const configs: Record<"grpc" | "grpc-js" | "rest" | "auto", (node: LimitedNode) => ClientConfig> = {
  grpc: ({ grpcUrl: url }: LimitedNode) => ({ transport: "grpc", grpc: { url } }),
  "grpc-js": ({ grpcUrl: url }: LimitedNode) => ({ transport: "grpc-js", grpc: { url } }),
  rest: ({ restUrl: url }: LimitedNode) => ({ transport: "rest", rest: { url } }),
  auto: ({ grpcUrl, restUrl }: LimitedNode) => ({ transport: "auto", grpc: { url: grpcUrl }, rest: { url: restUrl } }),
};

describe.each(Object.entries(configs))("a client over %s, of a node that limits calls", (_, configOf) => {
  it("is never refused, however many calls it makes", async () => {
    const node = await limitedNode({ burst: 50, perSecond: 200 });
    const { seen, hooks } = recorded();
    const { lastBlockHeight } = connect(configOf(node), hooks);
    const start = performance.now();
    await callMany(200, 32, () => lastBlockHeight());
    const seconds = (performance.now() - start) / 1000;
    expect(seen.retries).toEqual([]);
    expect(seen.waits.map(({ reason }) => reason)).toEqual(seen.waits.map(() => "the server's rate limit"));
    expect(seconds).toBeGreaterThan(0.7); // (200 - 50) / 200 = 0.75
  });

  it("waits for the reset after a refusal, and sends nothing else before", async () => {
    const node = await limitedNode({ burst: 3, perSecond: 2 });
    const { seen, hooks } = recorded();
    const { lastBlockHeight } = connect({ ...configOf(node), retry: { tries: 2, baseMs: 1, maxMs: 1 } }, hooks);
    const failures: unknown[] = [];
    // All are sent at once, before an answer tells of the limit.
    const calls = callMany(6, 6, () => lastBlockHeight().catch((reason: unknown) => failures.push(reason)));
    await eventually(() => node.answered() + seen.retries.length >= 6);
    expect(seen.retries.length).toBeGreaterThan(0);
    await lastBlockHeight();
    await calls;
    expect(failures).toEqual([]); // A call that is refused a second time fails.
    expect(seen.waits.at(-1)?.waitMs).toBeGreaterThan(100);
    expect(new Set(seen.waits.map(({ reason }) => reason))).toContain("the server refused a call");
  });

  it("learns of a ban once: later calls fail at once, unsent, and name its end", async () => {
    const node = await limitedNode({ burst: 1, perSecond: 1, banMs: 60_000 });
    const client = connect({ ...configOf(node), retry: { tries: 1 } });
    // Another program behind the same address earns the ban.
    await eventually(async () => {
      const answers = Array.from({ length: 20 }, () => fetch(`${node.restUrl}/blockchain/height`));
      return (await Promise.all(answers)).some(({ status }) => status === 403);
    });
    const first = await failureOf(client.lastBlockHeight());
    expect(first).toBeInstanceOf(BannedError);
    await node[Symbol.asyncDispose]();
    const second = await failureOf(client.lastBlockHeight());
    expect(second).toMatchObject({ code: Code.PermissionDenied, method: first.method });
    const until = second instanceof BannedError ? second.until.getTime() : 0;
    expect(until).toBeGreaterThan(Date.now() + 30_000);
    expect(until).toBeLessThan(Date.now() + 61_000);
    expect(second.summary).toContain(new Date(until).toISOString());
    expect(second.toJSON()).toMatchObject({ name: "BannedError", until: new Date(until).toISOString() });
    expect(await failureOf(client.listSegments())).toBeInstanceOf(BannedError);
  });

  it("ends a wait with the call's signal, its deadline and the client", async () => {
    const node = await limitedNode({ burst: 1, perSecond: 0.01 });
    const client = connect(configOf(node));
    await client.lastBlockHeight();
    const core = client.service(CoreService);
    const late = core.lastBlockHeight({}, { timeoutMs: 50 });
    const given = core.lastBlockHeight({}, { signal: AbortSignal.timeout(50) });
    expect(await failureOf(late)).toMatchObject({ code: Code.DeadlineExceeded });
    expect(await failureOf(given)).toMatchObject({ code: Code.DeadlineExceeded });
    const closing = failureOf(callMany(5, 5, () => core.lastBlockHeight({})));
    await client.close();
    expect(await closing).toMatchObject({ name: "ConnectionError" });
    expect(node.answered()).toBe(1);
  });
});

describe("limits.callsPerSecond", () => {
  it("paces calls to a node without a limit", async () => {
    const node = await limitedNode({ burst: 1000, perSecond: 1000 });
    const { seen, hooks } = recorded();
    const { lastBlockHeight } = connect({ ...configs.grpc(node), limits: { callsPerSecond: 50 } }, hooks);
    const start = performance.now();
    await callMany(55, 16, () => lastBlockHeight());
    expect(performance.now() - start).toBeGreaterThan(950);
    expect(new Set(seen.waits.map(({ reason }) => reason))).toEqual(new Set(["limits.callsPerSecond"]));
    expect(seen.waits[0]).toMatchObject({ method: "vega.api.v1.CoreService/LastBlockHeight" });
  });
});

describe("a limit that the answers tell", () => {
  let headers: Record<string, string>;
  let [arrived, answered, unanswered] = [0, 0, 0];
  let [status, body] = [200, '{"height":"1"}'];
  const server = createServer(async (_, response) => {
    arrived += 1;
    await turn();
    // How many calls came before the first answer.
    unanswered = answered === 0 ? arrived : unanswered;
    answered += 1;
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  });
  beforeEach(async () => {
    [arrived, answered, unanswered, status, body] = [0, 0, 0, 200, '{"height":"1"}'];
    headers = {};
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));
  const core = (hooks: Hooks = {}) => {
    const { port } = server.address() as AddressInfo;
    return connect({ rest: { url: `http://127.0.0.1:${port}` }, retry: { tries: 1 } }, hooks).service(CoreService);
  };

  it("is not known before the first: few calls are sent at once", async () => {
    headers = { "ratelimit-limit": "1000", "ratelimit-remaining": "1000", "ratelimit-reset": "1" };
    const service = core();
    await callMany(100, 100, () => service.lastBlockHeight({}));
    expect(answered).toBe(100);
    expect(unanswered).toBeLessThan(100);
  });

  it.each([
    ["huge", "999999999"],
    ["negative", "-5"],
    ["no number", "soon"],
    ["zero", "0"],
  ])("ends no call for ever where it is %s", async (_, wrong) => {
    headers = { "ratelimit-limit": wrong, "ratelimit-remaining": wrong, "ratelimit-reset": wrong };
    const service = core();
    await service.lastBlockHeight({});
    const outcome = await Promise.race([
      service.lastBlockHeight({}, { timeoutMs: 2500 }).then(
        () => "answered",
        (reason: TradewireError) => reason.code,
      ),
    ]);
    expect(["answered", Code.DeadlineExceeded]).toContain(outcome);
  });

  it("is another than that on streams: such a refusal stops nothing else", async () => {
    [status, body] = [429, "too many streams"];
    headers = { "ratelimit-limit": "20", "ratelimit-remaining": "55", "ratelimit-reset": "1" };
    const { seen, hooks } = recorded();
    const service = core(hooks);
    expect(await failureOf(service.lastBlockHeight({}))).toMatchObject({ code: Code.Unavailable });
    expect(await failureOf(service.lastBlockHeight({}))).toBeInstanceOf(NodeError);
    expect(seen.waits).toEqual([]);
  });
});
