// What happens to the node, to the links before it, and to the clocks, while the process under test works.
import { setTimeout as sleep } from "node:timers/promises";

const MINUTE = 60_000;
/** How far the process's clock may jump, in milliseconds; 0 sets it right. */
const JUMPS = [0, -90 * MINUTE, 90 * MINUTE, -2 * 24 * 60 * MINUTE, 2 * 24 * 60 * MINUTE];
const METHODS = [
  ...["GetVegaTime", "ListStopOrders", "ListTrades", "ListNetworkParameters", "ListAllNetworkHistorySegments"],
  ...["SubmitTransaction", "LastBlockHeight", "GetSpamStatistics", "GetOrder"],
  ...["ObserveEventBus", "ObserveMarketsData", "ObserveTransactionResults"],
];
const CODES = ["UNAVAILABLE", "INTERNAL", "RESOURCE_EXHAUSTED"];

/** Disturb until a signal is aborted, one thing at a time, with pauses. */
export async function disturb(world, signal, count) {
  const { random, links } = world;
  const often = {
    kill: 3,
    freeze: 2,
    cut: 4,
    stall: 4,
    down: 3,
    "node's clock": 2,
    "process's clock": 3,
    rehearsed: 6,
  };
  const names = Object.entries(often).flatMap(([name, times]) => Array(times).fill(name));
  const wait = (ms) => sleep(ms, undefined, { signal }).catch(() => undefined);
  for (;;) {
    await wait(random.between(1000, 8000));
    if (signal.aborted) {
      break;
    }
    const name = random.of(names);
    count(name);
    await happenings[name](world, wait);
  }
  for (const link of links) {
    link.isDown = false;
    link.resume();
  }
}

const happenings = {
  async kill({ random, node }, wait) {
    await node.stop(random.happens(0.8) ? "SIGKILL" : "SIGTERM");
    await wait(random.between(0, 3000));
    await node.start();
  },
  async freeze({ random, node }, wait) {
    node.process.kill("SIGSTOP");
    await wait(random.between(500, 15_000));
    node.process.kill("SIGCONT");
  },
  async cut({ random, links }) {
    for (const link of some(random, links)) {
      link.cut();
    }
  },
  async stall({ random, links }, wait) {
    const stalled = some(random, links);
    for (const link of stalled) {
      link.stall();
    }
    await wait(random.between(500, 25_000));
    for (const link of stalled) {
      if (random.happens(0.3)) {
        link.cut();
      }
      link.resume();
    }
  },
  async down({ random, links }, wait) {
    const down = some(random, links);
    for (const link of down) {
      link.isDown = true;
      link.cut();
    }
    await wait(random.between(200, 10_000));
    for (const link of down) {
      link.isDown = false;
    }
  },
  async "node's clock"({ random, node }) {
    node.aheadMs += random.between(1000, 24 * 60 * MINUTE);
    await command(node, "set-time", { time: new Date(Date.now() + node.aheadMs).toISOString() });
  },
  async "process's clock"({ random, program }) {
    if (program.connected) {
      program.send({ clock: random.of(JUMPS) });
    }
  },
  async rehearsed({ random, node }) {
    const isExport = random.happens(0.4);
    const ways = ["cut", "stall", random.of(CODES), ...(isExport ? ["error-after-archive"] : [])];
    const way = random.of(ways);
    const late = way === "cut" || way === "stall" || (isExport && way !== "error-after-archive");
    await command(node, "fail-next", {
      method: isExport ? "ExportNetworkHistory" : random.of(METHODS),
      with: way,
      times: 1 + random.below(4),
      ...(late && { afterBytes: random.below(20_000) }),
    });
  },
};

/** One of the links, or all. */
function some(random, links) {
  return random.happens(0.4) ? links : [random.of(links)];
}

/** Command the node, past the links. */
async function command({ restUrl }, name, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${restUrl}/admin/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) {
    throw new Error(`${name}: ${await answer.text()}`);
  }
}
