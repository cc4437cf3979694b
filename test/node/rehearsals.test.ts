import type { DescMethod, DescMethodStreaming, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { RequestError } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { Table, TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { ServerReflection } from "tradewire/gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "tradewire/gen/grpc/reflection/v1alpha/reflection_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { runs } from "../support/tier.js";

let node: Devnode;
let transport: ReturnType<typeof createGrpcTransport>;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  transport = createGrpcTransport({ baseUrl: node.grpcUrl });
});
afterAll(() => node.close());

const { exportNetworkHistory, exportLedgerEntries } = TradingDataService.method;
const exports: readonly DescMethod[] = [exportNetworkHistory, exportLedgerEntries];
/** All methods but the streams that have no end. */
const methods = [TradingDataService, CoreService, CoreStateService]
  .flatMap((service) => [...service.methods])
  .filter((method) => isUnary(method) || exports.includes(method));

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

/** How a call ends: in a code and a message, or not wrong. */
async function outcomeOf(method: DescMethodUnary | DescMethodStreaming): Promise<string> {
  const ending = isUnary(method)
    ? transport.unary(method, undefined, undefined, undefined, {})
    : drained(transport.stream(method, undefined, undefined, undefined, createAsyncIterable([exportRequest(method)])));
  return ending.then(
    () => "answered",
    (reason: unknown) => ConnectError.from(reason).message,
  );
}

function exportRequest(method: DescMethod): MessageInitShape<DescMethod["input"]> {
  return method === exportNetworkHistory
    ? { fromBlock: 1n, toBlock: 10n, table: Table.TRADES }
    : { partyId: node.keys[0] };
}

async function drained(answer: Promise<{ readonly message: AsyncIterable<unknown> }>): Promise<void> {
  for await (const _ of (await answer).message) {
    // Only how it ends matters.
  }
}

it("each failure that is taken happens, once, and each other one is refused", async () => {
  const whats = fc.constantFrom("DATA_LOSS", 15, "cut", "error-after-archive");
  const afterBytes = fc.constantFrom(undefined, 0, 1, 100, 10_000_000);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...methods), whats, afterBytes, async (method, what, after) => {
      const name = `${method.parent.typeName}/${method.name}`;
      const isCode = what === "DATA_LOSS" || what === 15;
      const isPossible =
        what === "cut" ||
        (isCode && (exports.includes(method) || (after ?? 0) === 0)) ||
        (what === "error-after-archive" && exports.includes(method) && after === undefined);
      const usual = await outcomeOf(method);
      const ask = () => node.failNext({ method: name, with: what, afterBytes: after });
      if (isPossible) {
        ask();
        const outcome = await outcomeOf(method);
        expect(outcome).toMatch(
          isCode
            ? /^\[data_loss\] injected by failNext$/
            : what === "cut"
              ? /stream closed|session|socket|aborted/
              : /^\[internal\] injected by failNext$/,
        );
      } else {
        expect(ask).toThrow(RequestError);
      }
      expect(await outcomeOf(method)).toBe(usual);
    }),
    { numRuns: runs(150) },
  );
});

it.each([
  ["Info", "INTERNAL", 1, "Info is not an export, so afterBytes with an error code does not apply to it"],
  [
    "ObserveEventBus",
    13,
    1000,
    "ObserveEventBus is not an export, so afterBytes with an error code does not apply to it",
  ],
  [
    "ServerReflectionInfo",
    13,
    1,
    "ServerReflectionInfo is not an export, so afterBytes with an error code does not apply to it",
  ],
  ["Info", "error-after-archive", undefined, "Info is not an export, so error-after-archive does not apply to it"],
  ["ExportNetworkHistory", "error-after-archive", 9, "error-after-archive cannot be combined with afterBytes"],
])("%s cannot fail with %s after %s bytes", (method, what, afterBytes, summary) => {
  const ask = () => node.failNext({ method, with: what, afterBytes });
  expect(ask).toThrow(RequestError);
  expect(ask).toThrow(summary);
});

it.each([
  ["Inof", "Did you mean Info?"],
  ["vega.api.v1.CoreService/Statistic", "Did you mean vega.api.v1.CoreService/Statistics?"],
  [
    "grpc.reflection.v1.ServerReflection/ServerReflectionInof",
    "Did you mean grpc.reflection.v1.ServerReflection/ServerReflectionInfo?",
  ],
])("there is no method %s, and the nearest is named", (method, advice) => {
  expect(() => node.failNext({ method, with: "cut" })).toThrow(`unknown method "${method}"\n`);
  expect(() => node.failNext({ method, with: "cut" })).toThrow(advice);
});

it("a name that several services have stands for the methods of all", async () => {
  const [data, core] = [createClient(TradingDataService, transport), createClient(CoreService, transport)];
  node.failNext({ method: "GetVegaTime", with: "DATA_LOSS", times: 2 });
  await expect(core.getVegaTime({})).rejects.toMatchObject({ code: Code.DataLoss });
  await expect(data.getVegaTime({})).rejects.toMatchObject({ code: Code.DataLoss });
  node.failNext({ method: "vega.api.v1.CoreService/GetVegaTime", with: "DATA_LOSS" });
  await data.getVegaTime({});
  await expect(core.getVegaTime({})).rejects.toMatchObject({ code: Code.DataLoss });
});

describe("server reflection", () => {
  const versions = {
    v1: () => createClient(ServerReflection, transport),
    v1alpha: () => createClient(ServerReflectionAlpha, transport),
  };
  const ask = (version: keyof typeof versions) => {
    const questions = [{ messageRequest: { case: "listServices" as const, value: "" } }];
    return drained(
      Promise.resolve({ message: versions[version]().serverReflectionInfo(createAsyncIterable(questions)) }),
    );
  };

  it.each(["v1", "v1alpha"] as const)("fails as it is told (%s)", async (version) => {
    for (const name of ["ServerReflectionInfo", `grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`]) {
      node.failNext({ method: name, with: "UNAVAILABLE" });
      await expect(ask(version)).rejects.toMatchObject({ code: Code.Unavailable });
      node.failNext({ method: name, with: "cut", afterBytes: 10 });
      await expect(ask(version)).rejects.toThrow();
      await ask(version);
    }
  });
});
