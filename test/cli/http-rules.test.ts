import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { run } from "../support/command.js";
import { unannotated } from "../support/unannotated.js";

let folder: string;
let node: Devnode;
/** The arguments for definitions without rules, and those for their rules. */
let proto: readonly string[];
const rules = ["vega", "data-node"].flatMap((name) => ["--http-rules", `test/http-rule/network/${name}.yml`]);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "http-rules-"));
  const image = join(folder, "image.binpb");
  const set = unannotated([TradingDataService, CoreService, CoreStateService]);
  await writeFile(image, toBinary(FileDescriptorSetSchema, set));
  proto = ["--proto", image];
  node = await startDevnode();
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

it("call sends a method of definitions without rules over REST by the rules of the files", async () => {
  const over = ["--transport", "rest", "--rest-url", node.restUrl, "--json"];
  const call = ["call", "CoreService/GetVegaTime", ...proto];
  const { code, out } = await run([...call, ...rules, ...over]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({ timestamp: expect.stringMatching(/^\d+$/) });
  const refused = await run([...call, ...over]);
  expect(refused.code).toBe(2);
  expect(refused.out).toContain("has no HTTP rule, so it cannot be called over REST");
});

it("methods and describe show the rules of the files, also for the network's own definitions", async () => {
  const shown = async (...args: string[]) => JSON.parse((await run([...args, "--json"])).out);
  expect(await shown("methods", "GetVegaTime", ...proto)).toMatchObject({ methods: [{ http: [] }, { http: [] }] });
  expect(await shown("methods", "CoreService/GetVegaTime", ...proto, ...rules)).toMatchObject({
    methods: [{ http: ["GET /time"] }],
  });
  const fork = join(folder, "fork.yml");
  await writeFile(fork, "http: {rules: [{selector: vega.api.v1.CoreService.GetVegaTime, get: /fork/time}]}");
  expect(await shown("describe", "CoreService/GetVegaTime", "--http-rules", fork)).toMatchObject({
    http: ["GET /fork/time"],
  });
  expect((await shown("describe", "CoreService", "--http-rules", fork)).methods).toContainEqual(
    expect.objectContaining({ name: "vega.api.v1.CoreService/GetVegaTime", http: ["GET /fork/time"] }),
  );
});

it("a rule for a method that the definitions lack is bad usage, with the line", async () => {
  const fork = join(folder, "unknown.yml");
  await writeFile(fork, "http:\n  rules:\n  - selector: vega.api.v1.CoreService.GetVegaTme\n    get: /time");
  const { err } = await run(["methods", "--http-rules", fork]);
  expect(err).toContain('unknown.yml", line 3: selector "vega.api.v1.CoreService.GetVegaTme" is not the full name');
  expect(err).toContain("Did you mean vega.api.v1.CoreService.GetVegaTime");
});
