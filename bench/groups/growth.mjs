// Does a unit cost more when there are more of them?
const MIB = 2 ** 20;
const TRANSPORTS = ["grpc", "grpc-js", "rest"];
/** How much small exports come to, one after another: a single one would be mostly the start. */
const LEAST_MIB = 256;
/** What two runs of the same differ by, as the garbage collector has it. */
const FLAT_MIB = 64;

export const title = "Growth";
export const about =
  "Calls at once and exports, in steps: where a unit costs more than 1.5 times what it costs in the step before, the cost has this ratio next to it. What each of many clients and streams takes is the resident memory after a garbage collection, and next to it the heap, which differs less between runs.";

/** The sections: calls, exports, and what is kept. */
export async function* sections({ quick, open }) {
  const both = async (content) => {
    const grpc = await open({ ...content, protocol: "grpc" });
    return { grpc, "grpc-js": grpc, rest: await open({ ...content, protocol: "rest" }) };
  };
  const calls = quick ? 10_000 : 30_000;
  const parameter = await both({ content: "parameter" });
  yield {
    title: "Calls at once",
    unit: "calls/s",
    scale: 1,
    cpuUnit: "CPU µs/call",
    cpuScale: 1e6,
    plot: "cpu",
    rows: steps(TRANSPORTS, [1, 10, 100, 1000], (transport, atOnce) => ({
      step: `${atOnce.toLocaleString("en-US")} at once`,
      task: "calls",
      args: { url: parameter[transport].url, calls, atOnce },
      amount: calls,
    })),
  };

  const archives = {};
  for (const mib of quick ? [1, 32, 1024] : [1, 32, 1024, 16_384]) {
    archives[mib] = await both({ content: "archive", method: "stored", csvBytes: mib * MIB, chunkBytes: MIB });
  }
  yield {
    title: "Sizes of exports",
    unit: "MiB/s",
    scale: MIB,
    cpuUnit: "CPU ms/MiB",
    cpuScale: 1000 * MIB,
    plot: "cpu",
    rounds: quick ? 1 : 3,
    rows: steps(["grpc", "rest"], Object.keys(archives), (transport, mib) => {
      const { url, bytes } = archives[mib][transport];
      const times = Math.ceil(LEAST_MIB / mib);
      const once = sizeOf(mib);
      return {
        step: times === 1 ? once : `${once}, ${times} times`,
        task: "bytes",
        args: { url, times },
        amount: bytes * times,
      };
    }),
    goals: ({ of }) =>
      ["grpc", "rest"].map((transport) => ({
        text: `${transport}: MiB more at the peak for 16 GiB than for 32 MiB`,
        most: FLAT_MIB,
        value: of(`${transport}, 16 GiB`, "peak") - of(`${transport}, 32 MiB, 8 times`, "peak"),
      })),
  };

  const marketData = await both({ content: "marketData" });
  for (const [title, task, urls, amount] of [
    ["200 idle clients, each after a call", "clients", parameter, 200],
    ["1,000 open streams of one client, each after a message", "streams", marketData, 1000],
  ]) {
    yield {
      title,
      unit: `${task}/s`,
      scale: 1,
      cpuUnit: `CPU ms/${task.slice(0, -1)}`,
      cpuScale: 1000,
      plot: "each",
      rows: TRANSPORTS.map((transport) => ({
        name: transport,
        ours: true,
        peer: ["ours", task, { transport, url: urls[transport].url, amount }],
        amount,
      })),
    };
  }
}

/** The rows of each transport, with the step that comes before each. */
function steps(transports, sizes, rowOf) {
  return transports.flatMap((transport) => {
    const rows = sizes.map((size) => {
      const { step, task, args, amount } = rowOf(transport, size);
      return { name: `${transport}, ${step}`, ours: true, peer: ["ours", task, { transport, ...args }], amount };
    });
    return rows.map((row, at) => ({ ...row, after: rows[at - 1]?.name }));
  });
}

const sizeOf = (mib) => (mib < 1024 ? `${mib} MiB` : `${mib / 1024} GiB`);
