import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createFileRegistry,
  fromJson,
  getOption,
  hasOption,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, RequestError } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "tradewire/gen/google/api/http_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { createRestTransport, type HttpRules, loadHttpRules } from "tradewire/transport";
import { serviceOf, unaryMethod } from "../support/definitions.js";
import { startRawHttp, whole } from "../support/raw-http.js";
import { unannotated } from "../support/unannotated.js";

const SERVICES = [TradingDataService, CoreService, CoreStateService];
/** The files of the network, as its own gateway is generated with them. */
const files = ["vega", "data-node"].map((name) => join("test/http-rule/network", `${name}.yml`));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "http-rules-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** A rule without its selector, which an option does not have. */
function json(rule: MessageShape<typeof HttpRuleSchema>): JsonValue {
  return toJson(HttpRuleSchema, { ...rule, selector: "" });
}

const rulesOf = (rules: HttpRules) => Object.fromEntries([...rules].map(([name, rule]) => [name, json(rule)]));

/** The error of a promise that must reject. */
async function refusalOf(promise: Promise<unknown>): Promise<RequestError> {
  const reason = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(reason instanceof RequestError)) {
    throw new Error("a RequestError was expected", { cause: reason });
  }
  return reason;
}

async function written(text: string | Uint8Array, name = "rules.yml"): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe("the network's own files of HTTP rules", () => {
  it("have the rules that the definitions of this library have, and no others", async () => {
    const rules = await loadHttpRules(files, SERVICES);
    const annotated = SERVICES.flatMap((service) =>
      service.methods.flatMap((method) =>
        hasOption(method, http) ? [[`${service.typeName}.${method.name}`, json(getOption(method, http))] as const] : [],
      ),
    );
    expect(annotated.length).toBeGreaterThan(100);
    expect(rulesOf(rules)).toEqual(Object.fromEntries(annotated));
  });

  it("let a program call its own definitions, which have no rules, over REST", async () => {
    await using node = await startDevnode();
    const registry = createFileRegistry(unannotated(SERVICES));
    const services = SERVICES.map(({ typeName }) => serviceOf(registry, typeName));
    const transport = createRestTransport({ url: node.restUrl, httpRules: await loadHttpRules(files, services) });
    const call = async (service: string, name: string, request: JsonObject = {}) => {
      const method = unaryMethod(serviceOf(registry, service), name);
      const { message } = await transport.unary(
        method,
        undefined,
        undefined,
        undefined,
        fromJson(method.input, request),
      );
      return toJson(method.output, message);
    };
    expect(await call("vega.api.v1.CoreService", "Statistics")).toMatchObject({
      statistics: { appVersion: expect.stringMatching(/^v0\.78\.0/) },
    });
    expect(await call("datanode.api.v2.TradingDataService", "ListMarkets", { pagination: { first: 1 } })).toMatchObject(
      {
        markets: { edges: [{ node: { id: expect.any(String) } }] },
      },
    );
    await transport.close();
  });
});

describe("a rule of a file", () => {
  const yaml = `
type: google.api.Service
unknown: {anything: [1, 2]}
http:
  fully_decode_reserved_expansion: true
  rules:
  - selector: vega.api.v1.CoreService.GetVegaTime
    custom: {kind: POST, path: "/clock"}
    body: "*"
  - selector: vega.api.v1.CoreService.Statistics
    get: /other/statistics
    response_body: statistics
    additional_bindings:
    - post: /statistics:read
      body: "*"
`;

  it("has custom methods, additional bindings and parts of the response", async () => {
    const rules = await loadHttpRules([await written(yaml)], SERVICES);
    expect(rulesOf(rules)).toEqual({
      "vega.api.v1.CoreService.GetVegaTime": { custom: { kind: "POST", path: "/clock" }, body: "*" },
      "vega.api.v1.CoreService.Statistics": {
        get: "/other/statistics",
        responseBody: "statistics",
        additionalBindings: [{ post: "/statistics:read", body: "*" }],
      },
    });
  });

  it("decides whether a client retries a call: only a GET is read-only", async () => {
    const server = await startRawHttp();
    const httpRules = await loadHttpRules([await written(yaml)], SERVICES);
    const client = createClient(
      { transport: "rest", rest: { url: server.url }, retry: { tries: 2, baseMs: 1, maxMs: 1 } },
      { httpRules },
    );
    server.answer = whole("503 Service Unavailable", "{}", { "content-type": "application/json", connection: "close" });
    const core = client.service(CoreService);
    await expect(core.getVegaTime({})).rejects.toMatchObject({ code: 14 });
    await expect(core.statistics({})).rejects.toMatchObject({ code: 14 });
    expect(server.requests.map((request) => request.line.replace(" HTTP/1.1", ""))).toEqual([
      "POST /clock",
      "GET /other/statistics",
      "GET /other/statistics",
    ]);
    await client.close();
    await server.close();
  });
});

const rule = (text: string) => `http:\n  rules:\n  - selector: vega.api.v1.CoreService.GetSpamStatistics\n${text}`;

describe("a file that is wrong", () => {
  it.each<[string, string, number, RegExp, RegExp]>([
    ["not YAML", "a: [1,\n b: }", 2, /invalid YAML: /, /Correct the file/],
    ["a key that occurs twice", "http:\n  rules: []\nhttp: 1", 3, /invalid YAML: .*unique/, /Correct/],
    ["two documents", "http:\n  rules: []\n---\na: 1", 3, /invalid YAML: .*multiple documents/, /Correct/],
    ["a text", "rules", 1, /the file must be a mapping/, /aliases are not supported/],
    ["another type", "\ntype: kubernetes", 2, /type must be google\.api\.Service \(got "kubernetes"\)/, /HTTP rules\./],
    ["no rules", "type: google.api.Service", 1, /http\.rules is missing/, /YAML file with HTTP rules/],
    ["no list of rules", "http:\n  rules:\n    get: /a", 3, /http\.rules must be a list/, /aliases are not supported/],
    ["no selector", "http:\n  rules:\n  - get: /a", 3, /the rule has no selector/, /full name of a method/],
    [
      "a misspelled method",
      "http:\n  rules:\n  - get: /a\n    selector: vega.api.v1.CoreService.GetVegaTimes",
      4,
      /selector "vega\.api\.v1\.CoreService\.GetVegaTimes" is not the full name of a method/,
      /Did you mean vega\.api\.v1\.CoreService\.GetVegaTime\?/,
    ],
    [
      "another package",
      "http:\n  rules:\n  - selector: fork.api.v9.Service.GetVegaTime\n    get: /a",
      3,
      /"fork\.api\.v9\.Service\.GetVegaTime" is not/,
      /vega\.api\.v1\.CoreService\.GetVegaTime/,
    ],
    ["a wildcard", "http:\n  rules:\n  - selector: '*'\n    get: /a", 3, /selector "\*" is not/, /without wildcards/],
    [
      "a long selector",
      `http:\n  rules:\n  - selector: ${"a".repeat(9999)}`,
      3,
      /selector "a{80}…"/,
      /without wildcards/,
    ],
    ["an unknown key", rule("    gett: /a"), 4, /unknown key "gett" in a rule/, /get, put, post/],
    ["no path", rule('    body: "*"'), 3, /the rule has no path/, /Use one of get/],
    [
      "two paths",
      rule("    get: /a/{party_id}\n    post: /b"),
      3,
      /several paths \(get, post\)/,
      /additional_bindings/,
    ],
    ["a bad path", rule("    get: /a/{party_id"), 3, /"\/a\/\{party_id" is not a path template/, /Write paths such as/],
    [
      "an unknown field",
      rule("    get: /a/{id}"),
      3,
      /contains \{id\}, which is not a field of vega\.api\.v1\.GetSpam/,
      /names of fields/,
    ],
    [
      "a field within a text",
      rule("    get: /a/{party_id.b}"),
      3,
      /contains \{party_id\.b\}, which/,
      /names of fields/,
    ],
    [
      "an unknown body",
      rule("    post: /a\n    body: id"),
      3,
      /body must be a field of vega\.api\.v1\.GetSpamStatisticsRequest \(got "id"\)/,
      /"\*" for all fields/,
    ],
    [
      "an unknown part",
      rule("    get: /a\n    response_body: id"),
      3,
      /response_body must be a field of vega\.api\.v1\.GetSpamStatisticsResponse \(got "id"\)/,
      /one of its fields\./,
    ],
    ["a number", rule("    get: 7"), 4, /get must be a text/, /aliases are not supported/],
    ["a bad custom method", rule("    custom: {kind: 'A B', path: /a}"), 4, /"A B" is not an HTTP method/, /HEAD/],
    [
      "nested bindings",
      rule("    get: /a\n    additional_bindings:\n    - get: /b\n      additional_bindings: []"),
      7,
      /unknown key "additional_bindings"/,
      /Valid keys: get/,
    ],
    ["an alias", `x: &x /a\n${rule("    get: *x")}`, 5, /get must be a text/, /aliases are not supported\./],
    [
      "a duplicate",
      `${rule("    get: /a")}\n  - selector: vega.api.v1.CoreService.GetSpamStatistics\n    get: /b`,
      5,
      /GetSpamStatistics already has a rule \(".*rules\.yml", line 3\)/,
      /additional_bindings/,
    ],
  ])("is refused with its line: %s", async (_, text, line, summary, advice) => {
    const path = await written(text);
    const error = await refusalOf(loadHttpRules([path], SERVICES));
    expect(error.summary.startsWith(`"${path}", line ${line}: `) || error.summary).toBe(true);
    expect(error.summary).toMatch(summary);
    expect(error.advice).toMatch(advice);
  });

  it("is refused for a rule that another file has", async () => {
    const [first, second] = [await written(rule("    get: /a"), "a.yml"), await written(rule("    get: /b"), "b.yml")];
    const { summary } = await refusalOf(loadHttpRules([first, second], SERVICES));
    expect(summary).toContain(
      `b.yml", line 3: vega.api.v1.CoreService.GetSpamStatistics already has a rule ("${first}", line 3)`,
    );
  });

  it("is refused if it is too large, not UTF-8, or nested deeply", async () => {
    const refusal = async (text: string | Uint8Array) =>
      (await refusalOf(loadHttpRules([await written(text)], SERVICES))).summary;
    expect(await refusal(`# ${"a".repeat(1024 * 1024)}`)).toMatch(/exceeds the limit of 1048576 bytes for HTTP rules/);
    expect(await refusal(Uint8Array.of(0x61, 0xff))).toMatch(/invalid YAML/);
    for (const opening of ["[", "- ", "? ", "{a: "]) {
      expect(await refusal(opening.repeat(200_000))).toMatch(/has values nested deeper than 64 levels/);
    }
    expect(await refusal(bomb())).toMatch(/get must be a text/);
  });
});

/** Aliases of aliases that would be a billion values. */
function bomb(): string {
  const lists = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(10)}]`);
  return `a0: &a0 [1]\n${lists.join("\n")}\n${rule("    get: *a9")}`;
}
