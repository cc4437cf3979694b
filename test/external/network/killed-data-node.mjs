// The data node is killed. This ends the network: it is the last group, and runs only with --kill-data-node.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { ConnectionError } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { limitOrder, percent } from "./market.mjs";
import { LeftOut } from "./report.mjs";

/** How soon the client must notice, in milliseconds. */
const NOTICE_MS = 15_000;

/** Make the cases. */
export function killedDataNodeCases({ network, market, options }) {
  const { grpc, rest } = network.clients;

  /** Kill it while events are read and an order is on its way. */
  async function kill(signal) {
    if (options.pidFile === undefined) {
      throw new LeftOut("it ends the network: give --kill-data-node FILE");
    }
    const { id, alice } = await market();
    assert.equal((await grpc.dataNodeLag({ signal })).state, "current");
    const reading = (async () => {
      for await (const _ of grpc.events({ types: ["endBlock"] }, { signal })) {
        // Until the connection is lost.
      }
    })();
    const ended = assert.rejects(reading, ConnectionError);
    await network.blocks(3);
    process.kill(await readPid(options.pidFile), "SIGKILL");
    const began = performance.now();
    await ended;
    assert.ok(performance.now() - began < NOTICE_MS, "the loss of the event stream was noticed late");
    const order = limitOrder(id, "BUY", percent(50));
    const { outcome } = await grpc
      .sendCommand(order, { signer: alice, until: "executed", timeoutMs: NOTICE_MS, signal })
      .catch((error) => ({ outcome: { status: error.name } }));
    assert.notEqual(outcome.status, "failed", outcome.reason);
    assert.notEqual(outcome.status, "executed", "nobody can know");
  }

  /** Each call ends with an error that says that the node is not reached. */
  async function calls(signal) {
    if (options.pidFile === undefined) {
      throw new LeftOut("it ends the network: give --kill-data-node FILE");
    }
    for (const client of [grpc, rest]) {
      await assert.rejects(client.service(TradingDataService).listAssets({}, { signal }), ConnectionError);
      await assert.rejects(client.listSegments({ signal }), ConnectionError);
      await assert.rejects(client.dataNodeLag({ signal }), ConnectionError);
    }
  }

  return [
    { group: "killed data node", name: "streams and commands while it is killed", check: kill },
    { group: "killed data node", name: "calls after it", check: calls },
  ];
}

/** The process id in a file that has it alone, or lines of ids and names. */
async function readPid(path) {
  const lines = (await readFile(path, "utf8")).trim().split("\n");
  const line = lines.length === 1 ? lines[0] : lines.find((each) => each.endsWith(" data-node"));
  const pid = Number(line?.split(" ")[0]);
  if (!Number.isSafeInteger(pid) || pid < 2) {
    throw new LeftOut(`${path} has no process id of a data node`);
  }
  return pid;
}
