import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ListStopOrdersRequestSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { SubmitRawTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
import { run, startCommand } from "../support/command.js";
import { eventually } from "../support/eventually.js";
import { serveNode, type TestNode } from "../support/node.js";
import { useVirtualRuntime } from "../support/virtual-runtime.js";

const HUGE = 18446744073709551615n;

let node: TestNode;
let folder: string;
/** What the node received last, and how often it was called. */
let received: JsonValue;
let headers: Headers;
let calls = 0;
/** How many of the streams that never end by themselves were ended. */
let closed = 0;
let endTests: () => void;
const testsEnded = new Promise<void>((resolve) => {
  endTests = resolve;
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-call-"));
  node = await serveNode(
    {
      listStopOrders(request, context) {
        received = toJson(ListStopOrdersRequestSchema, request);
        headers = context.requestHeader;
        calls += 1;
        if (request.pagination?.after !== undefined || request.filter?.liveOnly === true) {
          return { orders: pageAfter(Number(request.pagination?.after ?? 0)) };
        }
        return { orders: { edges: [], pageInfo: { endCursor: "\u202e" } } };
      },
      async *exportLedgerEntries({ partyId }) {
        for (const text of partyId === "none" ? [] : ["a,b\n1,", "2\n3"]) {
          yield { contentType: "text/csv", data: Buffer.from(text) };
        }
        if (partyId === "failing") {
          throw new ConnectError("the database is gone", Code.Internal);
        }
      },
      getVegaTime: () => ({ timestamp: 1n }),
      async *observeTrades({ marketIds }) {
        yield { trades: [{ id: "1", size: HUGE, aggressor: 1, type: 3 }] };
        yield { trades: [] };
        if (marketIds.includes("failing")) {
          throw new ConnectError("the market was settled", Code.OutOfRange);
        }
      },
      // biome-ignore lint/correctness/useYield: Its first answer never comes, whatever time the call has.
      async *observePositions() {
        await testsEnded;
      },
      async *observeOrders(_, { signal }) {
        try {
          yield { response: { case: "snapshot", value: { orders: [{ id: "7" }] } } };
          await once(signal, "abort");
        } finally {
          closed += 1;
        }
      },
    },
    {
      getVegaTime: () => ({ timestamp: 2n }),
      async submitRawTransaction({ type }, { signal }) {
        calls += 1;
        if (type === SubmitRawTransactionRequest_Type.COMMIT) {
          await once(signal, "abort");
        }
        throw new ConnectError("busy", Code.Unavailable);
      },
    },
  );
});
afterAll(async () => {
  endTests();
  await node.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  calls = 0;
  closed = 0;
});

/** Two of five stop orders. */
function pageAfter(after: number) {
  const ids = [1, 2, 3, 4, 5].filter((id) => id > after).slice(0, 2);
  return {
    edges: ids.map((id) => ({ cursor: String(id), node: { stopOrder: { id: `order-${id}` } } })),
    pageInfo: { hasNextPage: ids.at(-1) !== 5, endCursor: String(ids.at(-1)) },
  };
}

const over = (transport: string) => ["--transport", transport, "--grpc-url", node.grpcUrl, "--rest-url", node.restUrl];
const call = (...args: string[]) => run(["call", ...args, ...over("grpc")]);

describe.each(["grpc", "grpc-js", "rest"])("call over %s", (transport) => {
  const ask = (...args: string[]) => run(["call", ...args, ...over(transport)]);

  it("prints the answer, with defaults and with nothing that controls a terminal", async () => {
    const page = { hasNextPage: false, hasPreviousPage: false, startCursor: "", endCursor: "\u202e" };
    const { code, out, err } = await ask("ListStopOrders", '{"pagination": {"first": 5}}', "--header", "x-a: b:c");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain('"endCursor":"\\u202e"');
    expect(JSON.parse(out)).toEqual({ orders: { edges: [], pageInfo: page } });
    expect(out.endsWith("}\n")).toBe(true);
    expect(out.split("\n")).toHaveLength(2);
    expect(received).toEqual({ pagination: { first: 5 } });
    if (transport !== "rest") {
      expect(headers.get("x-a")).toBe("b:c");
    }
  });

  it("prints a stream as an object a line", async () => {
    const { code, out, err } = await ask("ObserveTrades");
    expect([code, err]).toEqual([0, ""]);
    const [first, ...rest] = out.split("\n");
    expect(JSON.parse(first ?? "").trades).toMatchObject([
      { id: "1", size: String(HUGE), aggressor: "SIDE_BUY", type: "TYPE_NETWORK_CLOSE_OUT_BAD", price: "" },
    ]);
    expect(rest).toEqual(['{"trades":[]}', ""]);
  });

  it("prints what came of a stream that fails, and then the failure", async () => {
    const failing = ["ObserveTrades", "--set", "marketIds=failing"];
    const { code, out, err } = await ask(...failing);
    expect([code, out.split("\n").length]).toEqual([1, 3]);
    expect(err).toMatch(/^tradewire: the node answered OUT_OF_RANGE: the market was settled\n/);
    const cut = await ask(...failing, "--json");
    expect(cut).toEqual({ code: 1, out: `[\n${out.trimEnd().replace("\n", ",\n")}`, err });
  });

  it("prints the records of all pages, or so many", async () => {
    const ids = async (...args: string[]) => {
      const { code, out, err } = await ask("ListStopOrders", '{"filter":{"liveOnly":true}}', ...args);
      expect([code, err]).toEqual([0, ""]);
      return out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).stopOrder.id);
    };
    expect(await ids("--all")).toEqual(["order-1", "order-2", "order-3", "order-4", "order-5"]);
    expect(calls).toBe(3);
    expect(await ids("--limit", "3", "--set", "pagination.after=1")).toEqual(["order-2", "order-3", "order-4"]);
  });

  it("prints so many answers of a stream, and ends it", async () => {
    const { code, out } = await ask("ObserveOrders", "--limit", "1");
    expect([code, out.split("\n").length]).toEqual([0, 2]);
    expect(JSON.parse(out)).toMatchObject({ snapshot: { orders: [{ id: "7" }] } });
  });

  it("writes the bytes of a body to a file, whole or not at all", async () => {
    const path = join(folder, `${transport}.csv`);
    const out = ["--to", path];
    // grpc-gateway's ForwardResponseStream writes a delimiter after each HttpBody (grpc-gateway issue 2557).
    const rawNote =
      transport === "rest"
        ? "The bytes came over REST: a grpc-gateway may have added a line feed after each chunk. Compare over gRPC.\n"
        : "";
    expect(await ask("ExportLedgerEntries", "--set", "partyId=failing", ...out)).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/^tradewire: the node answered INTERNAL: the database is gone\n/),
    });
    expect(await readdir(folder)).not.toContain(`${transport}.csv`);
    const written = await ask("ExportLedgerEntries", ...out, "-o", "jsonl");
    const saved = { path, bytes: 9, sha256: createHash("sha256").update("a,b\n1,2\n3").digest("hex") };
    expect(written).toEqual({ code: 0, out: `${JSON.stringify(saved)}\n`, err: rawNote });
    expect(await readFile(path, "utf8")).toBe("a,b\n1,2\n3");
    expect(await ask("ExportLedgerEntries", ...out)).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/file already exists/),
    });
    expect(JSON.parse((await ask("ExportLedgerEntries", ...out, "--force", "--json")).out)).toEqual(saved);
    const onTerminal = ["call", "ExportLedgerEntries", ...out, "--force", ...over(transport)];
    expect(await run(onTerminal, { terminal: { columns: 80, rows: 20 } })).toEqual({
      code: 0,
      out: `${path}\n`,
      err: `${rawNote}9 B, SHA-256 ${saved.sha256}\n`,
    });
    expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  it("writes the bytes of a body to standard output, and then its failure", async () => {
    const failed = await ask("ExportLedgerEntries", "--to", "-", "--set", "partyId=failing");
    expect([failed.code, failed.out]).toEqual([1, "a,b\n1,2\n3"]);
    expect(failed.err).toMatch(/^tradewire: the node answered INTERNAL: the database is gone\n/);
  });

  it("prints a stream as it comes, and ends with Ctrl-C", async () => {
    const { interrupt, firstLine, ended } = startCommand(["call", "ObserveOrders", ...over(transport)]);
    expect(JSON.parse(await firstLine)).toMatchObject({ snapshot: { orders: [{ id: "7" }] } });
    interrupt("SIGINT");
    const { code, err } = await ended;
    expect([code, err]).toEqual([130, ""]);
    await eventually(() => closed === 1);
  });

  it("ends a call whose time is up", async () => {
    const { code, out, err } = await ask("ObservePositions", "--timeout", "1s");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toBe(
      "tradewire: the command did not end within 1000 ms\nUse a longer --timeout, or check the node with `tradewire status`.\n",
    );
  });

  it("does not repeat what submits", async () => {
    const { code, err } = await ask("SubmitRawTransaction", '{"tx": "AA=="}');
    expect(code).toBe(1);
    expect(err).toMatch(/^tradewire: the node answered UNAVAILABLE: busy\n/);
    expect(calls).toBe(1);
    const inJson = await ask("SubmitRawTransaction", '{"tx": "AA=="}', "--json");
    expect(JSON.parse(inJson.out)).toMatchObject({ error: { code: "UNAVAILABLE", transport } });
  });

  it("tells that the node does not offer a method", async () => {
    const { code, err } = await ask("GetEpoch");
    expect(code).toBe(1);
    expect(err).toMatch(/^tradewire: the node answered UNIMPLEMENTED/);
  });
});

it("call takes the method's name in full, with a slash or a dot, or its end, in any case", async () => {
  for (const [name = "", timestamp] of [
    ["datanode.api.v2.TradingDataService/GetVegaTime", "1"],
    ["vega.api.v1.CoreService.GetVegaTime", "2"],
    ["/vega.api.v1.CoreService/GetVegaTime", "2"],
    ["CoreService/GetVegaTime", "2"],
    ["tradingdataservice/getvegatime", "1"],
  ]) {
    expect(await call(name)).toEqual({ code: 0, err: "", out: `{"timestamp":"${timestamp}"}\n` });
  }
});

it("call takes no bytes of which a cut could not be seen", async () => {
  const server = createServer((_, response) => {
    response.useChunkedEncodingByDefault = false; // The body ends with the connection.
    response.writeHead(200, { "content-type": "text/csv", connection: "close" }).end("a,b\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const { code, out, err } = await run(["call", "ExportLedgerEntries", "--to", "-", "--rest-url", url]);
  expect([code, out]).toEqual([1, ""]);
  expect(err).toMatch(/^tradewire: the response has neither a length nor an end marker/);
  server.close();
});

it("call says when it is interrupted that the node may have taken what does more than read", async () => {
  const { interrupt, ended } = startCommand([
    "call",
    "SubmitRawTransaction",
    '{"type": "TYPE_COMMIT"}',
    ...over("grpc"),
  ]);
  await eventually(() => calls > 0);
  interrupt("SIGINT");
  const err = "tradewire: interrupted; it is unknown whether the node executed the call\n";
  expect(await ended).toEqual({ code: 130, out: "", err });
});

it("call says when its time is up that the node may have taken what does more than read", async () => {
  using runtime = useVirtualRuntime({ io: true });
  const args = ["call", "SubmitRawTransaction", '{"type": "TYPE_COMMIT"}', "--timeout", "500ms", ...over("grpc")];
  const { ended } = startCommand(args);
  await eventually(() => calls > 0);
  await runtime.pass(500);
  const { code, out, err } = await ended;
  expect([code, out]).toEqual([3, ""]);
  expect(err).toBe(
    "tradewire: the command did not end within 500 ms; it is unknown whether the node executed the call\nCheck the effects of the call before you repeat it.\n",
  );
});

it("call prints the records of all pages, or the answers of a stream, as one JSON array", async () => {
  const parsed = async (...args: string[]) => JSON.parse((await call(...args, "--json")).out);
  const all = await parsed("ListStopOrders", '{"filter":{"liveOnly":true}}', "--all");
  expect(all.map(({ stopOrder }: { stopOrder: { id: string } }) => stopOrder.id)).toEqual(
    [1, 2, 3, 4, 5].map((id) => `order-${id}`),
  );
  expect(await parsed("ListStopOrders", "--all")).toEqual([]);
  expect(await parsed("ObserveTrades")).toMatchObject([{ trades: [{ id: "1" }] }, { trades: [] }]);
  expect(await parsed("ObserveOrders", "--limit", "1")).toMatchObject([{ snapshot: { orders: [{ id: "7" }] } }]);
});

it("call accepts a byte order mark before the request, as editors write it", async () => {
  const request = '\ufeff{"filter": {"liveOnly": true}}';
  const path = join(folder, "marked.json");
  await writeFile(path, request);
  expect(await call("ListStopOrders", `@${path}`)).toMatchObject({ code: 0, err: "" });
  expect(received).toEqual({ filter: { liveOnly: true } });
  const piped = await run(["call", "ListStopOrders", "-", ...over("grpc")], { input: request });
  expect(piped).toMatchObject({ code: 0, err: "" });
  expect(received).toEqual({ filter: { liveOnly: true } });
});

it("call takes the request from a file or from standard input", async () => {
  const path = join(folder, "request.json");
  await writeFile(path, '{"filter": {"live_only": true}}');
  expect((await call("ListStopOrders", `@${path}`)).code).toBe(0);
  expect(received).toEqual({ filter: { liveOnly: true } });
  const inFolder = await run(["call", "ListStopOrders", "@request.json", ...over("grpc")], { cwd: folder });
  expect([inFolder.code, received]).toEqual([0, { filter: { liveOnly: true } }]);
  const args = ["call", "ListStopOrders", "-", "--set", "filter.liveOnly=false", ...over("grpc")];
  expect((await run(args, { input: '{"pagination":{"first":1}}\n' })).code).toBe(0);
  expect(received).toEqual({ pagination: { first: 1 }, filter: { liveOnly: false } });
});

it.each([
  [["ListStopOrdrs"], /^tradewire: unknown method "ListStopOrdrs"\nDid you mean \S+Service\/ListStopOrders\?\n$/],
  [["TradingDataServic/GetStopOrder"], /\nDid you mean datanode\.api\.v2\.TradingDataService\/GetStopOrder\?\n$/],
  [["GetVegaTime"], / ambiguous: .*\nChoose datanode\.\S+Service\/GetVegaTime or vega\.\S+Service\/GetVegaTime\.\n$/],
  [
    ["ListStopOrders", "-d", "{}"],
    /--data is for methods that stream requests, but \S+ListStopOrders takes a single request/,
  ],
  [["CoreService/ObserveEventBus", "-d", "{}", "-d", "no"], /^tradewire: request 2 is not valid JSON/],
  [["CoreService/ObserveEventBus", '{"frist": 1}'], /unknown field "frist"/],
  [
    ["ListStopOrders", "--set", "pagination.frist=1"],
    /unknown field "frist" in datanode\.api\.v2\.Pagination\nDid you mean first\? Fields: first, after/,
  ],
  [["ListStopOrders", "--header", "nothing"], /^tradewire: --header must have the form NAME: VALUE \(got "nothing"\)/],
  [["ListStopOrders", "--header", "host: x"], /^tradewire: the header host/],
  [["LastBlockHeight", "--all"], /^tradewire: \S+LastBlockHeight has no pages/],
  [["ObserveTrades", "--all"], /has no pages: it returns a stream/],
  [["ListStopOrders", "--limit", "0"], /tradewire: --limit must be a positive whole number \(got "0"\)/],
  [["ListStopOrders", "--to", "x"], /responds with \S+ListStopOrdersResponse, not with bytes/],
  [["ExportLedgerEntries", "--limit", "1", "--to", "x"], /^tradewire: --to saves bytes, which --limit does not/],
  [["ExportLedgerEntries", "--all", "--to", "x"], /^tradewire: --to saves bytes, which --all does not/],
  [["ExportLedgerEntries", "--force"], /^tradewire: --force needs --to\n/],
  [
    ["ListStopOrders", "--timeout", "soon"],
    /tradewire: --timeout must be a duration, such as 500ms, 30s, 2m or 1h \(got "soon"\)/,
  ],
  [["ListStopOrders", "--timeout", "0"], /tradewire: --timeout must be a duration from 1ms to 596h \(got "0"\)/],
  [["ListStopOrders", "--timeout", "597h"], /tradewire: --timeout must be a duration from 1ms to 596h \(got "597h"\)/],
])("call %j is bad usage", async (args, message) => {
  const { code, out, err } = await call(...args);
  expect([code, out, calls]).toEqual([2, "", 0]);
  expect(err).toMatch(message);
});
