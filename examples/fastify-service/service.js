// @ts-check
import { Readable } from "node:stream";
import Fastify from "fastify";
import { httpStatusOf, TradewireError } from "tradewire";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";

/** The longest time since the last block with which the service is ready, in milliseconds. */
const MAX_LAG_MS = 30_000;

const rowsOf = {
  type: "object",
  required: ["fromBlock", "toBlock"],
  properties: { fromBlock: { type: "integer", minimum: 1 }, toBlock: { type: "integer", minimum: 1 } },
};

/**
 * Make the service.
 *
 * @param {import("tradewire").Client} client a client of the node
 * @returns the service, which does not listen yet
 */
export function createService(client) {
  const app = Fastify({ logger: { level: process.env["LOG_LEVEL"] ?? "info" } });
  const core = client.service(CoreService);

  /** Trades of network history, a JSON object a line. They are streamed: memory does not grow with them. */
  app.get("/trades", { schema: { querystring: rowsOf } }, async (request, reply) => {
    const { fromBlock, toBlock } = /** @type {{ fromBlock: number, toBlock: number }} */ (request.query);
    const stop = new AbortController();
    reply.raw.once("close", () => stop.abort()); // Who asked may leave.
    const range = /** @type {const} */ ({ table: "trades", fromBlock, toBlock });
    const exported = client.exportNetworkHistory(range, { check: true, signal: stop.signal });
    const lines = linesOf(exported.files());
    const first = await lines.next(); // What fails before it has a status; what fails later cuts the answer.
    return reply.type("application/x-ndjson").send(Readable.from(joined(first, lines)));
  });

  /** A party's live stop orders. */
  app.get("/parties/:party/stop-orders", async (request) => {
    const { party } = /** @type {{ party: string }} */ (request.params);
    const found = [];
    for await (const { stopOrder, decimals } of client.stopOrders({ parties: [party], live: true }, { limit: 1000 })) {
      const { id, marketId, status } = stopOrder;
      found.push({ id, marketId, status, triggerPrice: decimals.stopOrder?.price });
    }
    return found;
  });

  /** Whether the process runs. */
  app.get("/live", () => ({ status: "live" }));

  /** Whether requests can be answered: the node can be reached, and makes blocks. */
  app.get("/ready", async (_, reply) => {
    const { timestamp } = await core.getVegaTime({}, { timeoutMs: 2000 });
    const lagMs = Date.now() - Number(timestamp / 1_000_000n);
    return reply.code(lagMs > MAX_LAG_MS ? 503 : 200).send({ status: lagMs > MAX_LAG_MS ? "behind" : "ready", lagMs });
  });

  app.setErrorHandler((reason, request, reply) => {
    if (!(reason instanceof TradewireError)) {
      return reply.send(reason);
    }
    request.log.warn(reason.toJSON());
    return reply.code(httpStatusOf(reason)).send({ error: reason.summary, advice: reason.advice });
  });

  return app;
}

/** @param {ReturnType<import("tradewire").NetworkHistoryExport["files"]>} files */
async function* linesOf(files) {
  for await (const file of files) {
    for await (const row of file.rows()) {
      yield `${JSON.stringify(row)}\n`;
    }
  }
}

/**
 * @param {IteratorResult<string>} first
 * @param {AsyncGenerator<string>} others
 */
async function* joined(first, others) {
  if (!first.done) {
    yield first.value;
    yield* others;
  }
}
