// Python's grpcio, with code generated from this project's definitions, and urllib, against the local node.
import assert from "node:assert/strict";
import { join } from "node:path";
import { TradingDataService } from "tradewire/api";
import { all, answers, sha256 } from "./compare.mjs";

const data = TradingDataService.method;
const range = { fromBlock: 1, toBlock: 4000 };

export function pythonCases({ folder, node, tools, clients: { grpc } }) {
  const call = async (task, ...args) => {
    const python = await tools.python();
    return JSON.parse(await python("client.py", new URL(node.grpcUrl).host, task, ...args));
  };
  const get = async (path) => JSON.parse(await (await tools.python())("gateway.py", `${node.restUrl}/api/v2/${path}`));

  async function reads() {
    const { messages } = await answers(grpc, data.listMarkets, { pagination: { first: 20 } });
    assert.deepEqual(await call("listing"), { messages });
  }

  async function exports() {
    const exported = grpc.exportNetworkHistory({ table: "trades", ...range });
    const archive = Buffer.concat(await all(exported.bytes()));
    const saved = await call("export", join(folder, "python.zip"));
    const names = (await all(exported.files())).map(({ name }) => name);
    assert.deepEqual(saved, { names, sha256: sha256(archive) });
    const path = "networkhistory/export?fromBlock=1&toBlock=4000&table=TABLE_TRADES";
    const name = "tradewire-devnet-trades-116-1-4000.zip";
    assert.deepEqual(await get(path), { status: 200, name, sha256: sha256(archive), told: names });
  }

  async function fails() {
    const invalid = { fromBlock: 2n, toBlock: 7n, table: 6 };
    for (const [task, code, method, request, path] of [
      ["not_found", 5, data.getStopOrder, { orderId: "0".repeat(64) }, `stoporder/${"0".repeat(64)}`],
      ["invalid", 3, data.exportNetworkHistory, invalid, "networkhistory/export?fromBlock=2&toBlock=7&table=6"],
    ]) {
      const { error } = await answers(grpc, method, request);
      const said = (await call(task)).error;
      assert.equal(said.code, code);
      assert.ok(error.message.includes(`: ${said.message}`), error.message);
      assert.deepEqual(said.details ?? [], error.details);
      const { status, told } = await get(path);
      assert.equal(status, code === 5 ? 404 : 400);
      assert.equal((told.error ?? told).message, said.message);
    }
  }

  async function ends() {
    node.failNext({ method: "ListMarkets", with: "stall" });
    assert.equal((await call("deadline")).error.code, 4);
    assert.equal((await call("cancel")).error.code, 1);
  }

  return [
    ["Python grpcio: a call", reads],
    ["Python grpcio and urllib: an export, opened with zipfile", exports],
    ["Python grpcio and urllib: errors with details", fails],
    ["Python grpcio: deadline and cancel", ends],
  ];
}
