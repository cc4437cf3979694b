import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { DescMethodUnary, DescService, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { run } from "../support/command.js";
import { start } from "../support/command-process.js";
import { installExample } from "../support/example.js";
import { serveNodeOf, type TestNode } from "../support/node.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const bin = join(root, "node_modules/.bin");

let folder: string;
let node: TestNode;
const received: JsonObject[] = [];

/** Copy the example to a folder of its own, and do there what docs/transport.md says, with the project's own tools. */
beforeAll(async () => {
  ({ folder } = await installExample("regenerate"));
  await buf("generate");
  const generated: unknown = await import(pathToFileURL(join(folder, "gen/datanode/api/v2/trading_data_pb.js")).href);
  const service = Object.values(generated ?? {}).find(isService);
  if (service === undefined) {
    throw new Error("the generated module has no service");
  }
  node = await serveNodeOf((router) => serveFork(router, service), [service]);
});

afterAll(async () => {
  await node?.close();
  await rm(folder, { recursive: true });
});

async function buf(...args: string[]): Promise<void> {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
  await promisify(execFile)("buf", args, { cwd: folder, env });
}

function isService(value: unknown): value is DescService {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "service";
}

/** The fork's side. */
function serveFork(router: ConnectRouter, service: DescService): void {
  const answers: Record<string, (request: JsonObject) => JsonObject> = {
    getNetworkParameter: ({ key = "" }) => ({
      networkParameter: { key, value: "300", setAtBlock: "18446744073709551615" },
    }),
    getMarketNote({ marketId = "" }) {
      if (marketId === "none") {
        throw new ConnectError("no note", Code.NotFound);
      }
      return { text: `closes soon: ${String(marketId)}`, leftAt: "1700000000000000001" };
    },
  };
  for (const method of service.methods) {
    const answer = answers[method.localName];
    if (isUnary(method) && answer !== undefined) {
      router.rpc(method, (request) => {
        const json = Object(toJson(method.input, request));
        received.push(json);
        return fromJson(method.output, answer(json));
      });
    }
  }
}

function isUnary(method: DescService["methods"][number]): method is DescMethodUnary {
  return method.methodKind === "unary";
}

it("the example calls the fork's rpc and reads its field, over gRPC and over REST", async () => {
  received.length = 0;
  const { ended } = start(process.execPath, ["main.js", node.grpcUrl, node.restUrl, "a/b"], folder);
  const parameter = "  snapshot.interval.length is 300 since block 18446744073709551615\n";
  expect(await ended).toEqual({
    code: 0,
    err: "",
    out: ["grpc", "rest"]
      .map((name) => `${name}: "closes soon: a/b", left at 1700000000000000001\n${parameter}`)
      .join(""),
  });
  const each = [{ marketId: "a/b" }, { key: "snapshot.interval.length" }];
  expect(received).toEqual([...each, ...each]);
});

describe("the command takes the fork's definitions without regenerating", () => {
  const urls = () => ["--grpc-url", node.grpcUrl, "--rest-url", node.restUrl];

  beforeAll(async () => {
    await buf("build", "--output", "image.binpb");
    await buf("build", "--output", "image.json");
    const image: JsonValue = JSON.parse(await readFile(join(folder, "image.json"), "utf8"));
    const bare = JSON.stringify(image, (key, value) => (key === "jsonName" ? undefined : value));
    await writeFile(join(folder, "no-json-names.json"), bare);
    await buf("build", "--output", "imports-missing.binpb", "--exclude-imports", "--path", "proto/datanode");
  });

  const call = (path: string, transport: string, request: string) =>
    run(["call", "GetMarketNote", request, "--proto", join(folder, path), "--transport", transport, ...urls()]);
  const note = { code: 0, err: "", out: '{"text":"closes soon: m","leftAt":"1700000000000000001"}\n' };

  it.each(["grpc", "grpc-js", "rest", "auto"])("to call it over %s", async (transport) => {
    expect(await call("image.binpb", transport, '{"market_id":"m"}')).toEqual(note);
    expect(await call("image.binpb", transport, '{"marketId":"none"}')).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/^tradewire: the node answered NOT_FOUND: no note/),
    });
  });

  it.each(["proto", "image.json", "no-json-names.json"])("from %s, too", async (path) => {
    expect(await call(path, "rest", '{"marketId":"m"}')).toEqual(note);
  });

  it("to list and to describe", async () => {
    const proto = join(folder, "image.binpb");
    expect((await run(["methods", "--proto", proto, "--output", "csv"])).out.split("\n").slice(1)).toEqual([
      expect.stringMatching(/^datanode\.api\.v2\.TradingDataService\/GetNetworkParameter,unary,/),
      expect.stringMatching(/^datanode\.api\.v2\.TradingDataService\/GetMarketNote,unary,/),
      "",
    ]);
    expect(JSON.parse((await run(["describe", "NetworkParameter", "--proto", proto, "--json"])).out)).toMatchObject({
      kind: "message",
      name: "vega.NetworkParameter",
      fields: [
        { name: "key" },
        { name: "value" },
        {
          number: 3,
          name: "set_at_block",
          jsonName: "setAtBlock",
          type: "uint64",
          comment: "The fork's own: the block that set the value.",
        },
      ],
    });
  });

  it("to tell its comments", async () => {
    const { out } = await run(["describe", "GetMarketNote", "--proto", join(folder, "image.binpb"), "-o", "table"]);
    expect(out).toMatch(/\ncomment +The fork's own: get the note that was left on a market\.\n/);
    expect(out).toMatch(/\n +2 +left_at +leftAt +int64 +Unix nanoseconds\.\n$/);
  });

  it.each([
    ["imports-missing.binpb", /has incomplete or invalid definitions: Cannot find .*\n.*--include_imports/],
    ["main.js", /is neither a Buf image nor a descriptor set\nCreate one with `buf build/],
    ["package.json", /is neither a Buf image nor a descriptor set\nCreate one with `buf build/],
    ["gen", /^tradewire: buf cannot compile /],
  ])("but not from %s", async (path, message) => {
    const { code, out, err } = await run(["methods", "--proto", join(folder, path)]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
  });

  it("and says how to make an image where there is no compiler", async () => {
    const main = join(root, "dist/src/cli/main.js");
    const methods = ["methods", "--proto", join(folder, "proto")];
    const { code, err } = await start(process.execPath, [main, ...methods], "/", { PATH: "" }).ended;
    expect(code).toBe(2);
    expect(err).toMatch(/^tradewire: .* buf is not installed\n.*buf build -o image\.binpb/);
  });
});
