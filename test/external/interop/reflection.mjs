// grpcurl and `buf curl` against the local node, which ask it for its definitions.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TradingDataService } from "tradewire/api";
import { all, answers, sha256 } from "./compare.mjs";
import { finish, run } from "./processes.mjs";

const METHOD = "datanode.api.v2.TradingDataService";
const data = TradingDataService.method;
const page = { pagination: { first: 3 } };
const range = { fromBlock: 1, toBlock: 1000 };
const trades = JSON.stringify({ ...range, table: "TABLE_TRADES" });

export function reflectionCases({ root, folder, node, tools, clients: { grpc } }) {
  const { host } = new URL(node.grpcUrl);
  const grpcurl = async (...args) => run(join(await tools.go(), "grpcurl"), ["-plaintext", ...args]);

  async function lists() {
    const services = (await grpcurl(host, "list")).trim().split("\n");
    for (const name of [METHOD, "vega.api.v1.CoreService", "vega.api.v1.CoreStateService"]) {
      assert.ok(services.includes(name), `${name} is not listed`);
    }
    const methods = (await grpcurl(host, "list", METHOD)).trim().split("\n");
    assert.deepEqual(methods, TradingDataService.methods.map(({ name }) => `${METHOD}.${name}`).toSorted());
    assert.match(await grpcurl(host, "describe", "vega.api.v1.CoreService.Statistics"), /get: "\/statistics"/);
    assert.match(await grpcurl(host, "describe", "vega.StopOrder"), /string id = 1;/);
  }

  async function calls() {
    const { messages } = await answers(grpc, data.listMarkets, page);
    const printed = await grpcurl("-d", JSON.stringify(page), host, `${METHOD}/ListMarkets`);
    assert.deepEqual(JSON.parse(printed), messages[0]);
    const { code, err } = await finish(join(await tools.go(), "grpcurl"), [
      ...["-plaintext", "-d", JSON.stringify({ orderId: "0".repeat(64) })],
      ...[host, `${METHOD}/GetStopOrder`],
    ]);
    assert.equal(code, 64 + 5); // grpcurl adds the gRPC code to 64.
    assert.match(err, /Code: NotFound/);
  }

  async function streams() {
    const capture = join(folder, "capture.json");
    await writeFile(
      capture,
      await grpcurl("-max-msg-sz", "8000000", "-d", trades, host, `${METHOD}/ExportNetworkHistory`),
    );
    const archive = join(folder, "captured.zip");
    await run(process.execPath, [join(root, "dist/src/cli/main.js"), "assemble", capture, "--to", archive]);
    const exported = grpc.exportNetworkHistory({ table: "trades", ...range });
    const { sha256: saved } = await exported.saveTo(join(folder, "uncaptured.zip"));
    const hash = await run("sha256sum", [archive]);
    assert.equal(hash.split(" ")[0], saved);
    assert.equal(sha256(Buffer.concat(await all(exported.bytes()))), saved);
  }

  async function curls(...options) {
    const buf = join(root, "node_modules/.bin/buf");
    const call = (method, request) =>
      run(buf, ["curl", "--http2-prior-knowledge", ...options, "-d", request, `${node.grpcUrl}/${METHOD}/${method}`], {
        cwd: root,
      });
    const { messages } = await answers(grpc, data.listMarkets, page);
    assert.deepEqual(JSON.parse(await call("ListMarkets", JSON.stringify(page))), messages[0]);
    const [first] = (await call("ExportNetworkHistory", trades)).split("\n");
    assert.ok(first.length > 0);
  }

  return [
    ["grpcurl: list and describe, by reflection", lists],
    ["grpcurl: a call and an error", calls],
    ["grpcurl: an export, assembled by the command", streams],
    ["buf curl: gRPC, by reflection", () => curls("--protocol", "grpc")],
    ["buf curl: gRPC, with --schema", () => curls("--protocol", "grpc", "--schema", "proto")],
    ["buf curl: Connect's protocol", () => curls("--protocol", "connect")],
    ["buf curl: gRPC-Web", () => curls("--protocol", "grpcweb")],
  ];
}
