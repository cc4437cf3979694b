// Slow, and worth it: a node is held back only by more data than all buffers on the way can hold.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { CanceledError, type Client, type ClientConfig, Code, type ConnectionError, createClient } from "tradewire";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";
import { asking, type BusRequest, idsOf, observe, readAll } from "../support/bus.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { eventually, standsStill } from "../support/eventually.js";
import { gate } from "../support/gate.js";
import { closedUrl } from "../support/node.js";
import { portOf, startTalkingNode, type Talk } from "../support/talking-node.js";
import { isFull } from "../support/tier.js";
import { transports } from "./transports.js";

const event = (id: string) => ({ events: [{ id }] });

/** Answers each request with an event of its market's name. */
const echo: Talk = async function* (requests) {
  for await (const { marketId } of requests) {
    yield event(marketId);
  }
};

/** Gives an event, and then waits for the end of the call. */
const quiet: Talk = async function* (_, { signal }) {
  yield event("1");
  await once(signal, "abort");
};

const fault = () =>
  new ConnectError("no such market", Code.FailedPrecondition, undefined, [
    { desc: ErrorDetailSchema, value: { code: 7, message: "gone" } },
  ]);

/** A connection that is made and then lost. */
const lost = { name: "ConnectionError", code: Code.Unavailable, connected: true };

/** Those that differ in how they hold a node back: the quick tier tries these with much data. */
const OWN_FLOW = ["grpc", "grpc-js", "rest"];

describe.each(transports.map((transport) => [transport.name, transport] as const))(
  "a method that streams both ways, over %s,",
  (name, { config, ways }) => {
    const isSocket = ways.every((way) => way !== "grpc");

    async function clientOf(
      { grpcUrl, restUrl }: { readonly grpcUrl: string; readonly restUrl: string },
      more: Pick<ClientConfig, "fallback" | "limits" | "retry" | "timeouts"> = {},
    ): Promise<Client> {
      const nowhere = new URL(await closedUrl()).host;
      const grpc = { url: grpcUrl, windowBytes: 65_535 };
      return createClient({ retry: { tries: 1 }, ...config({ grpc, rest: { url: restUrl }, nowhere }), ...more });
    }

    it("answers many requests, sent at once or each after the answer before it", async () => {
      await using node = await startTalkingNode(echo);
      await using client = await clientOf(node);
      const names = Array.from({ length: 200 }, (_, at) => String(at));
      async function* atOnce(): AsyncGenerator<BusRequest> {
        yield* names.map((marketId) => ({ marketId }));
        await new Promise(() => undefined);
      }
      let answered = () => {};
      async function* inTurn(): AsyncGenerator<BusRequest> {
        for (const marketId of names) {
          const answer = new Promise<void>((resolve) => {
            answered = resolve;
          });
          yield { marketId };
          await answer;
        }
      }
      for (const requests of [atOnce(), inTurn()]) {
        const ids: string[] = [];
        for await (const answer of observe(client, requests)) {
          ids.push(idsOf(answer));
          answered();
          if (ids.length === names.length) {
            break;
          }
        }
        expect(ids).toEqual(names);
      }
    });

    it("goes on behind the end of the requests", async () => {
      await using node = await startTalkingNode(async function* (requests) {
        for await (const { marketId } of requests) {
          yield event(marketId);
          if (marketId === "last") {
            break;
          }
        }
        await hasEnded.promise;
        yield event("later");
        throw fault();
      });
      await using client = await clientOf(node);
      const hasEnded = gate();
      async function* two(): AsyncGenerator<BusRequest> {
        yield { marketId: "first" };
        yield { marketId: "last" };
        hasEnded.open();
      }
      expect((await readAll(observe(client, two()))).ids).toEqual(["first", "last", "later"]);
    });

    it.each([0, 1])("fails with the node's error after %d answers", async (count) => {
      await using node = await startTalkingNode(async function* () {
        if (count === 1) {
          yield event("1");
        }
        throw fault();
      });
      await using client = await clientOf(node);
      const { ids, error } = await readAll(observe(client, asking(1n)));
      expect(ids).toEqual(count === 1 ? ["1"] : []);
      expect(error).toMatchObject({ name: "NodeError", code: Code.FailedPrecondition, details: [{ message: "gone" }] });
      expect(error?.summary).toBe("the node answered FAILED_PRECONDITION: no such market: gone");
      expect(error?.method).toBe("datanode.api.v2.TradingDataService/ObserveEventBus");
    });

    it(`ends with the node's stream, ${isSocket ? "which a socket tells from a loss by nothing" : "if all is well"}`, async () => {
      await using node = await startTalkingNode(async function* () {
        yield event("1");
      });
      await using client = await clientOf(node);
      const { ids, error } = await readAll(observe(client, asking(1n)));
      expect(ids).toEqual(["1"]);
      expect(error?.name).toBe(isSocket ? "ConnectionError" : undefined);
    });

    it.each([0, 1])("fails where the connection is cut after %d answers, and the next call succeeds", async (count) => {
      await using node = await startTalkingNode(async function* (requests, context) {
        for await (const { batchSize } of requests) {
          if (batchSize !== 0n || count === 1) {
            yield event("1");
          }
          if (batchSize === 0n) {
            await hasCome.promise;
            node.cut();
            await once(context.signal, "abort");
          }
        }
      });
      await using client = await clientOf(node);
      const hasCome = gate();
      if (count === 0) {
        hasCome.open();
      }
      const { ids, error } = await readAll(observe(client, asking(0n)), hasCome.open);
      expect(ids).toEqual(count === 1 ? ["1"] : []);
      expect(error).toMatchObject(lost);
      expect(error?.summary).toMatch(/^the connection was lost/);
      for await (const answer of observe(client, asking(1n))) {
        expect(idsOf(answer)).toBe("1");
        break;
      }
    });

    it("fails where a proxy drops connections, however much passes", async () => {
      await using node = await startTalkingNode(async function* (_, { signal }) {
        for (let at = 0; !signal.aborted; at += 1) {
          yield event(String(at));
          await turn();
        }
      });
      await using grpc = await startCuttingProxy(node.grpcUrl);
      await using rest = await startCuttingProxy(node.restUrl);
      await using client = await clientOf({ grpcUrl: grpc.url, restUrl: rest.url });
      let read = 0;
      const { ids, error } = await readAll(observe(client, asking(1n)), () => {
        read += 1;
        if (read === 20) {
          grpc.cut();
          rest.cut();
        }
      });
      expect(ids.length).toBeGreaterThanOrEqual(20);
      expect(ids).toEqual(ids.map((_, at) => String(at)));
      expect(error).toMatchObject(lost);
    });

    it("is lost with a node that restarts, and is there again with it", async () => {
      await using first = await startTalkingNode(quiet);
      await using client = await clientOf(first, { fallback: { pauseMs: 1 } });
      const ids: string[] = [];
      const reading = (async () => {
        for await (const answer of observe(client, asking(1n))) {
          ids.push(idsOf(answer));
          await first[Symbol.asyncDispose]();
        }
      })();
      await expect(reading).rejects.toMatchObject(lost);
      const { error } = await readAll(observe(client, asking(1n)));
      expect(error).toMatchObject({ ...lost, connected: false });
      await using _again = await startTalkingNode(quiet, [portOf(first.grpcUrl), portOf(first.restUrl)]);
      for await (const answer of observe(client, asking(1n))) {
        ids.push(idsOf(answer));
        break;
      }
      expect(ids).toEqual(["1", "1"]);
    });

    const itWithMuchData = isFull() || OWN_FLOW.includes(name) ? it : undefined;
    itWithMuchData?.("holds back a node whose answers are read slowly, and loses none", async () => {
      const TOTAL = name === "grpc-js" ? 1500 : 600; // grpc-js takes some 40 MB before it holds a node back.
      const large = randomBytes(60_000).toString("base64"); // Gzip makes it no smaller than the bytes.
      let sent = 0;
      await using node = await startTalkingNode(async function* (_requests, { signal }) {
        for (; sent < TOTAL; sent += 1) {
          yield event(`${sent} ${large}`);
        }
        await once(signal, "abort");
      });
      await using client = await clientOf(node);
      const answers = observe(client, asking(1n))[Symbol.asyncIterator]();
      const ids = [String((await answers.next()).value?.events[0]?.id).split(" ")[0]];
      await standsStill(() => sent);
      expect(sent).toBeLessThan(TOTAL / 2);
      while (ids.length < TOTAL) {
        ids.push(String((await answers.next()).value?.events[0]?.id).split(" ")[0]);
      }
      expect(ids).toEqual(Array.from({ length: TOTAL }, (_each, at) => String(at)));
      await answers.return?.();
    });

    it("is ended by its signal, before and meanwhile, and the node is told", async () => {
      let ended = 0;
      await using node = await startTalkingNode(async function* (requests, context) {
        context.signal.addEventListener("abort", () => {
          ended += 1;
        });
        yield* quiet(requests, context);
      });
      await using client = await clientOf(node);
      const before = await readAll(observe(client, asking(1n), { signal: AbortSignal.abort() }));
      expect(before.error).toBeInstanceOf(CanceledError);
      const abort = new AbortController();
      const reading = (async () => {
        for await (const _ of observe(client, asking(1n), { signal: abort.signal })) {
          abort.abort();
        }
      })();
      await expect(reading).rejects.toBeInstanceOf(CanceledError);
      for await (const _ of observe(client, asking(1n))) {
        break; // As good as a signal.
      }
      await eventually(() => ended === 2);
    });

    it("is ended by the end of the client", async () => {
      await using node = await startTalkingNode(quiet);
      const client = await clientOf(node);
      const reading = (async () => {
        for await (const _ of observe(client, asking(1n))) {
          void client.close();
        }
      })();
      const closed: Partial<ConnectionError> = { name: "ConnectionError", code: Code.Canceled, connected: true };
      await expect(reading).rejects.toMatchObject(closed);
    });

    it("takes requests of any iterable, also of one that cannot be left", async () => {
      await using node = await startTalkingNode(echo);
      await using client = await clientOf(node);
      let asked = 0;
      const requests: AsyncIterable<BusRequest> = {
        [Symbol.asyncIterator]: () => ({
          async next() {
            asked += 1;
            return asked > 3 ? new Promise(() => undefined) : { done: false, value: { marketId: String(asked) } };
          },
        }),
      };
      const ids: string[] = [];
      for await (const answer of observe(client, requests)) {
        ids.push(idsOf(answer));
        if (ids.length === 3) {
          break;
        }
      }
      expect(ids).toEqual(["1", "2", "3"]);
    });

    it("is ended by what the caller's requests throw", async () => {
      await using node = await startTalkingNode(quiet);
      await using client = await clientOf(node);
      const reason = new Error("no more paper");
      async function* failing(): AsyncGenerator<BusRequest> {
        yield {};
        throw reason;
      }
      const found = await readAll(observe(client, failing())).catch((error: unknown) => error);
      expect(found).toBe(reason);
    });

    it("fails where an answer is larger than the limit", async () => {
      await using node = await startTalkingNode(async function* () {
        yield event("1");
        yield event("x".repeat(5000));
      });
      const limits = { maxMessageBytes: 4000, maxJsonBytes: 4000 };
      await using client = await clientOf(node, { limits });
      const { ids, error } = await readAll(observe(client, asking(1n)));
      expect(ids).toEqual(["1"]);
      expect(error).toMatchObject({ name: "ProtocolError", code: Code.ResourceExhausted });
      expect(error?.summary).toMatch(/^a message is larger than the limit/);
    });
  },
);
