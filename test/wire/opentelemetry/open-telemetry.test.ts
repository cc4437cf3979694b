import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import {
  context,
  metrics,
  propagation,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { type Client, type ClientConfig, createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { type OpenTelemetryOptions, openTelemetry } from "tradewire/opentelemetry";
import { csvZip } from "../../support/archives.js";
import { closedUrl, serveNode, type TestNode } from "../../support/node.js";

const service = "datanode.api.v2.TradingDataService";
const listing = `${service}/ListAllNetworkHistorySegments`;
const observing = `${service}/ObserveTrades`;
const spanExporter = new InMemorySpanExporter();
const metricExporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });

/** What the node's list of segments does: nothing, or fail. */
let onListing: (call: HandlerContext) => void = () => undefined;
let archive: Buffer;
let node: TestNode;
const clients: Client[] = [];

/** Writes the trace's number into a header of its own. */
const propagator: TextMapPropagator = {
  inject: (active, carrier, setter) => setter.set(carrier, "x-trace", trace.getSpanContext(active)?.traceId ?? "none"),
  extract: (active) => active,
  fields: () => ["x-trace"],
};

beforeAll(async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  propagation.setGlobalPropagator(propagator);
  archive = await csvZip(5000, "chain-1-trades-1-1000.csv");
  const extensions = [{ typeUrl: "type.googleapis.com/google.protobuf.Empty", value: new Uint8Array() }];
  node = await serveNode({
    listAllNetworkHistorySegments(_, call) {
      onListing(call);
      return { segments: [{ fromHeight: 1n, toHeight: 1000n, chainId: "chain-1" }] };
    },
    async *observeTrades(_, { signal }) {
      yield* [{ trades: [{ id: "1" }] }, { trades: [{ id: "2" }] }];
      if (signal.aborted) throw new ConnectError("gone", Code.Canceled);
    },
    async *observeMarketsData(_, { signal }) {
      yield {};
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    async *exportNetworkHistory() {
      yield { contentType: "application/zip", data: archive.subarray(0, 1000), extensions };
      yield { contentType: "application/zip", data: archive.subarray(1000) };
    },
  });
});

afterAll(async () => {
  await node.close();
  await reader.shutdown();
  for (const api of [context, trace, metrics, propagation]) {
    api.disable();
  }
});

beforeEach(async () => {
  onListing = () => undefined;
  spanExporter.reset();
  await reader.forceFlush();
  metricExporter.reset();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function connect(
  config: Partial<ClientConfig> = {},
  options: OpenTelemetryOptions = {},
  behind: Interceptor[] = [],
): Client {
  const { interceptors, ...parts } = openTelemetry(options);
  const { grpc = { url: node.grpcUrl }, ...others } = config;
  const client = createClient(
    { retry: { tries: 3, baseMs: 1, maxMs: 2 }, ...others, grpc },
    { ...parts, interceptors: [...interceptors, ...behind] },
  );
  clients.push(client);
  return client;
}

const dataOf = (client: Client) => client.service(TradingDataService);
const onlySpan = (): ReadableSpan => {
  const [span, ...others] = spanExporter.getFinishedSpans();
  if (span === undefined || others.length > 0) {
    throw new Error(`there are ${others.length + (span ? 1 : 0)} spans`);
  }
  return span;
};
const eventsOf = (span: ReadableSpan) => span.events.map(({ name, attributes }) => [name, attributes]);
const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId;

/** Fail the first calls. */
function failing(times: number, code = Code.Unavailable) {
  return () => {
    times -= 1;
    if (times >= 0) {
      throw new ConnectError("not now", code);
    }
  };
}

async function readMetrics() {
  await reader.forceFlush();
  const all = metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  return new Map(all.map(({ descriptor, dataPoints }) => [descriptor.name, { unit: descriptor.unit, dataPoints }]));
}

const end = (transport: "grpc" | "rest") => ({
  "rpc.system.name": "grpc",
  "rpc.method": listing,
  "rpc.response.status_code": "OK",
  "server.address": "127.0.0.1",
  "server.port": Number(new URL(transport === "grpc" ? node.grpcUrl : node.restUrl).port),
  "network.protocol.name": "http",
  "network.protocol.version": transport === "grpc" ? "2" : "1.1",
  "tradewire.transport": transport,
});

describe("the span of a call", () => {
  it.each(["grpc", "rest"] as const)("follows the conventions, over %s", async (transport) => {
    await connect({ transport, rest: { url: node.restUrl } }).listSegments();
    const span = onlySpan();
    expect(span).toMatchObject({ name: listing, kind: SpanKind.CLIENT, status: { code: SpanStatusCode.UNSET } });
    expect(span.attributes).toEqual({ ...end(transport), "tradewire.tries": 1, "tradewire.messages": 1 });
    expect(span.events).toEqual([]);
  });

  it("tells of the tries", async () => {
    onListing = failing(2);
    await connect().listSegments();
    const span = onlySpan();
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toMatchObject({ "tradewire.tries": 3, "rpc.response.status_code": "OK" });
    expect(eventsOf(span)).toEqual([
      ["tradewire.retry", { "error.type": "UNAVAILABLE", "tradewire.try": 1, "tradewire.delay": expect.any(Number) }],
      ["tradewire.retry", { "error.type": "UNAVAILABLE", "tradewire.try": 2, "tradewire.delay": expect.any(Number) }],
    ]);
  });

  it("tells of the way over REST, where gRPC cannot be reached, and of that which is taken then", async () => {
    const client = connect({ grpc: { url: await closedUrl() }, rest: { url: node.restUrl } });
    await client.listSegments();
    const way = { "error.type": "ConnectionError", "tradewire.from": "grpc", "tradewire.to": "rest" };
    expect(eventsOf(onlySpan())).toEqual([["tradewire.fallback", way]]);
    expect(onlySpan().attributes).toMatchObject(end("rest"));
    spanExporter.reset();
    await client.listSegments();
    expect(onlySpan()).toMatchObject({ events: [], attributes: end("rest") });
  });

  it("tells of a wait for a limit", async () => {
    const client = connect({ limits: { callsPerSecond: 20 } });
    await Promise.all([client.listSegments(), client.listSegments(), client.listSegments(), client.listSegments()]);
    const waits = spanExporter.getFinishedSpans().flatMap(eventsOf);
    expect(waits.length).toBeGreaterThan(0);
    expect(waits[0]).toEqual([
      "tradewire.wait",
      { "tradewire.reason": "limits.callsPerSecond", "tradewire.delay": expect.any(Number) },
    ]);
  });

  it("is an error with the node's code, and with no secret", async () => {
    onListing = failing(1, Code.PermissionDenied);
    const headers = { authorization: "Bearer s3cret" };
    const client = connect({ grpc: { url: node.grpcUrl, headers } });
    await expect(client.listSegments()).rejects.toThrow("not now");
    const span = onlySpan();
    expect(span.status).toEqual({
      code: SpanStatusCode.ERROR,
      message: "the node answered PERMISSION_DENIED: not now",
    });
    expect(span.attributes).toMatchObject({
      "error.type": "PERMISSION_DENIED",
      "rpc.response.status_code": "PERMISSION_DENIED",
    });
    const { attributes, events, status } = span;
    expect(JSON.stringify({ attributes, events, status })).not.toContain("s3cret");
  });

  it("is an error with the error's class where the node has not answered", async () => {
    const client = connect({ grpc: { url: await closedUrl() }, retry: { tries: 1 } });
    await expect(client.listSegments()).rejects.toThrow();
    expect(onlySpan()).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "ConnectionError", "rpc.response.status_code": "UNAVAILABLE" },
    });
  });

  it("ends with the stream", async () => {
    const seen: string[] = [];
    for await (const { trades } of dataOf(connect()).observeTrades({})) {
      expect(spanExporter.getFinishedSpans()).toEqual([]);
      seen.push(...trades.map(({ id }) => id));
    }
    expect(seen).toEqual(["1", "2"]);
    expect(onlySpan()).toMatchObject({
      name: observing,
      status: { code: SpanStatusCode.UNSET },
      attributes: { "tradewire.messages": 2, "rpc.response.status_code": "OK" },
    });
  });

  it("ends where the stream is left, which is no error", async () => {
    for await (const _ of dataOf(connect()).observeMarketsData({})) {
      break;
    }
    const span = onlySpan();
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toMatchObject({ "tradewire.messages": 1, "rpc.response.status_code": "CANCELLED" });
    expect(span.attributes).not.toHaveProperty("error.type");
  });

  it("ends where the caller aborts, which is no error", async () => {
    const abort = new AbortController();
    const reading = async () => {
      for await (const _ of dataOf(connect()).observeMarketsData({}, { signal: abort.signal })) {
        abort.abort();
      }
    };
    await expect(reading()).rejects.toThrow();
    const span = onlySpan();
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toMatchObject({ "rpc.response.status_code": "CANCELLED" });
    expect(span.attributes).not.toHaveProperty("error.type");
  });

  it("lasts as long as an export", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tradewire-otel-"));
    await connect().exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1000 }).saveTo(folder);
    await rm(folder, { recursive: true });
    expect(onlySpan()).toMatchObject({
      name: `${service}/ExportNetworkHistory`,
      attributes: { "tradewire.messages": 2, "rpc.response.status_code": "OK" },
    });
  });
});

describe("the context", () => {
  const tracer = trace.getTracer("test");
  /** Makes a span of its own around the call, and one for each message of a stream. */
  const spanning: Interceptor = (next) => async (req) => {
    const response = await tracer.startActiveSpan("underneath", (span) => next(req).finally(() => span.end()));
    if (!response.stream) {
      return response;
    }
    const { message } = response;
    async function* spans() {
      for await (const each of message) {
        tracer.startSpan("message").end();
        yield each;
      }
    }
    return { ...response, message: spans() };
  };

  it("of each of two calls at once is its own, with its parent and its events", async () => {
    const asked = new Map<string, number>();
    onListing = ({ requestHeader }) => {
      const name = requestHeader.get("x-name") ?? "";
      asked.set(name, (asked.get(name) ?? 0) + 1);
      if (name === "two" && asked.get(name) === 1) {
        throw new ConnectError("not now", Code.Unavailable);
      }
    };
    const client = connect();
    const call = (name: string) =>
      tracer.startActiveSpan(name, async (span) => {
        await dataOf(client).listAllNetworkHistorySegments({}, { headers: { "x-name": name } });
        span.end();
        return span.spanContext().spanId;
      });
    const [one, two] = await Promise.all([call("one"), call("two")]);
    const spans = spanExporter.getFinishedSpans().filter(({ name }) => name === listing);
    const found = (parent: string) => spans.find((span) => parentOf(span) === parent);
    expect(spans).toHaveLength(2);
    expect(found(one)).toMatchObject({ events: [], attributes: { "tradewire.tries": 1 } });
    expect(found(two)).toMatchObject({ events: [{ name: "tradewire.retry" }], attributes: { "tradewire.tries": 2 } });
  });

  it("is that of the span, for interceptors underneath", async () => {
    await connect({}, {}, [spanning]).listSegments();
    const [underneath, span] = spanExporter.getFinishedSpans();
    expect([underneath?.name, span?.name]).toEqual(["underneath", listing]);
    expect(parentOf(underneath)).toBe(span?.spanContext().spanId);
  });

  it("is that of the span while messages are read, and the reader's own in between", async () => {
    const readers = tracer.startSpan("reader");
    await context.with(trace.setSpan(context.active(), readers), async () => {
      for await (const _ of dataOf(connect({}, {}, [spanning])).observeTrades({})) {
        expect(trace.getActiveSpan()).toBe(readers);
      }
    });
    const spans = spanExporter.getFinishedSpans();
    const call = spans.find(({ name }) => name === observing);
    const parents = spans.filter(({ name }) => name === "message").map(parentOf);
    expect(parents).toEqual([call?.spanContext().spanId, call?.spanContext().spanId]);
    expect(parentOf(call)).toBe(readers.spanContext().spanId);
  });

  it.each([true, false])("goes to the node only where that is asked for (%s)", async (propagate) => {
    let header: string | null = null;
    onListing = ({ requestHeader }) => {
      header = requestHeader.get("x-trace");
    };
    await connect({}, { propagate }).listSegments();
    expect(header).toBe(propagate ? onlySpan().spanContext().traceId : null);
  });
});

describe("metrics", () => {
  it("are those of the conventions, and ours", async () => {
    onListing = failing(1);
    const client = connect({ grpc: { url: await closedUrl() }, rest: { url: node.restUrl } });
    await client.listSegments();
    const told = await readMetrics();
    expect(told.get("rpc.client.call.duration")).toMatchObject({
      unit: "s",
      dataPoints: [
        { attributes: end("rest"), value: { count: 1, buckets: { boundaries: expect.arrayContaining([0.005, 10]) } } },
      ],
    });
    expect(told.get("tradewire.client.received")).toMatchObject({ unit: "By", dataPoints: [{ value: 16 }] });
    const reason = { "rpc.method": listing, "error.type": "UNAVAILABLE" };
    expect(told.get("tradewire.client.retries")).toMatchObject({ dataPoints: [{ value: 1, attributes: reason }] });
    const way = { "tradewire.from": "grpc", "tradewire.to": "rest" };
    expect(told.get("tradewire.client.fallbacks")).toMatchObject({ dataPoints: [{ value: 1, attributes: way }] });
  });

  it("of failures have their kind", async () => {
    onListing = failing(1, Code.NotFound);
    await expect(connect().listSegments()).rejects.toThrow();
    const [point] = (await readMetrics()).get("rpc.client.call.duration")?.dataPoints ?? [];
    expect(point?.attributes).toMatchObject({ "error.type": "NOT_FOUND", "rpc.response.status_code": "NOT_FOUND" });
  });

  it("of waits are there, too", async () => {
    const client = connect({ limits: { callsPerSecond: 20 } });
    await Promise.all([client.listSegments(), client.listSegments(), client.listSegments(), client.listSegments()]);
    const waits = (await readMetrics()).get("tradewire.client.wait.duration");
    expect(waits).toMatchObject({ unit: "s", dataPoints: [{ attributes: { "rpc.method": listing } }] });
  });
});

it("tells nothing, and costs nothing, without an SDK", () => {
  const provider = trace.getTracerProvider();
  metrics.disable();
  // Spans alone need no size of messages, which costs as much as to write them.
  expect(openTelemetry().hooks).not.toHaveProperty("onBytes");
  trace.disable();
  expect(openTelemetry()).toEqual({ interceptors: [] });
  trace.setGlobalTracerProvider(provider);
  expect(openTelemetry().hooks).toHaveProperty("onCallStart");
});

it("refuses options that there are not", () => {
  // @ts-expect-error
  expect(() => openTelemetry({ propgate: true })).toThrow(/Did you mean propagate\?/);
  // @ts-expect-error
  expect(() => openTelemetry({ propagate: "yes" })).toThrow(/propagate must be true or false \(got "yes"\)/);
});
