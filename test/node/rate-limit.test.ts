import { Code, createClient as createServiceClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "@jest/globals";
import { RequestError } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { type LimitedNode, serveLimited } from "../support/limited-node.js";
import { useVirtualRuntime } from "../support/virtual-runtime.js";

let node: LimitedNode | undefined;
afterEach(async () => {
  await node?.[Symbol.asyncDispose]();
});

const LIMIT = { burst: 3, perSecond: 0.001, banMs: 60_000 };

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

async function get(url: string): Promise<Answer> {
  const response = await fetch(url);
  const headers = [...response.headers].filter(([name]) => /^ratelimit-|^content-type$/.test(name));
  return { status: response.status, headers: Object.fromEntries(headers), text: await response.text() };
}

describe("the limit on calls", () => {
  it("is kept at the gateway: what is left, refusals, and a ban when those are used up too", async () => {
    node = await serveLimited(LIMIT);
    const answers: Answer[] = [];
    for (let call = 0; call < 8; call += 1) {
      answers.push(await get(`${node.restUrl}/${call === 1 ? "no/such/path" : "blockchain/height"}`));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 429, 429, 429, 429, 403]);
    expect(answers.map(({ headers }) => headers["ratelimit-remaining"])).toEqual([
      ...["2", "1", "0"],
      ...["0", "0", "0", "0"],
      undefined,
    ]);
    expect(answers[0]?.headers).toMatchObject({ "ratelimit-limit": "0", "ratelimit-reset": "1" });
    expect(answers[3]).toMatchObject({
      headers: { "content-type": "text/plain; charset=utf-8" },
      text: "api request rate limit exceeded",
    });
    const seconds = Number(answers[7]?.headers["ratelimit-retry-after"]);
    expect(seconds).toBeGreaterThan(30);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  it("is kept over gRPC, for one address together with the gateway", async () => {
    node = await serveLimited(LIMIT);
    await get(`${node.restUrl}/blockchain/height`);
    const core = createServiceClient(CoreService, createGrpcTransport({ baseUrl: node.grpcUrl }));
    const headers: (string | null)[] = [];
    const onHeader = (header: Headers) => headers.push(header.get("ratelimit-remaining"));
    await core.lastBlockHeight({}, { onHeader });
    await core.lastBlockHeight({}, { onHeader });
    expect(headers).toEqual(["1", "0"]);
    for (let call = 0; call < 4; call += 1) {
      const refusal = await core.lastBlockHeight({}).catch((reason: unknown) => reason);
      expect(refusal).toMatchObject({ code: Code.ResourceExhausted, rawMessage: "api request rate limit exceeded" });
    }
    const ban = await core.lastBlockHeight({}).catch((reason: unknown) => reason);
    expect(ban).toMatchObject({ code: Code.PermissionDenied });
  });

  it("is filled again at its rate", async () => {
    await using limited = await startDevnode({ blockMs: 0, segments: 1, rateLimit: { burst: 2, perSecond: 1000 } });
    const { restUrl } = limited;
    using runtime = useVirtualRuntime({ io: true });
    const statuses = async (count: number) => {
      const answers = Array.from({ length: count }, () => get(`${restUrl}/blockchain/height`));
      return (await Promise.all(answers)).map(({ status }) => status).toSorted();
    };
    expect(await statuses(3)).toEqual([200, 200, 429]);
    runtime.skip(1);
    expect(await statuses(2)).toEqual([200, 429]);
    runtime.skip(10);
    expect(await statuses(3)).toEqual([200, 200, 429]);
  });

  it.each([
    ["a burst of nothing", { burst: 0 }],
    ["a rate below zero", { perSecond: -1 }],
    ["a ban without end", { banMs: Number.POSITIVE_INFINITY }],
  ])("cannot be %s", async (_, rateLimit) => {
    await expect(startDevnode({ rateLimit })).rejects.toThrow(RequestError);
  });
});
