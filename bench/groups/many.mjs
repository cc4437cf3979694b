// Many exports at once, with one client.
const MIB = 2 ** 20;
const EXPORTS = 16;
const EMPTY = "an empty Node process";

export const title = "Many exports at once";
export const about = `${EXPORTS} concurrent exports, discarded, compared with one export of their total size, and with as many of what Node itself receives.`;

/** A section for each transport. */
export async function* sections({ quick, open }) {
  for (const transport of ["grpc", "grpc-js", "rest"]) {
    const protocol = transport === "rest" ? "rest" : "grpc";
    const archive = { content: "archive", method: "stored", chunkBytes: MIB, protocol };
    const each = await open({ ...archive, csvBytes: (quick ? 32 : 128) * MIB });
    const one = await open({ ...archive, csvBytes: (quick ? 32 : 128) * EXPORTS * MIB });
    const many = protocol === "rest" ? ["rest", "httpManyBytes"] : ["http2", "manyBytes"];
    const bare = `${protocol === "rest" ? "node:http" : "node:http2"}, bare, ${EXPORTS} at once`;
    const together = `${EXPORTS} at once`;
    yield {
      title: transport,
      unit: "MiB/s",
      scale: MIB,
      cpuUnit: "CPU s/GiB",
      cpuScale: 1024 * MIB,
      reference: "one",
      rows: [
        {
          name: together,
          ours: true,
          peer: ["ours", "manyBytes", { transport, url: each.url, exports: EXPORTS }],
          amount: each.bytes * EXPORTS,
        },
        { name: "one", ours: true, peer: ["ours", "bytes", { transport, url: one.url }], amount: one.bytes },
        {
          name: bare,
          peer: [...many, { url: each.url, exports: EXPORTS }],
          amount: each.bytes * EXPORTS,
          decodes: protocol === "rest",
        },
        { name: EMPTY, peer: ["nothing", "nothing", {}], local: true },
      ],
      goals: ({ of, ratio }) => [
        {
          text: `${transport}: total rate relative to one export`,
          least: 0.85,
          ratio: [together, "one"],
          instead: ratio(together, bare) >= 0.95,
        },
        { text: `${transport}: rate relative to ${bare}; 0.95 also meets the goal`, ratio: [together, bare] },
        {
          text: `${transport}: additional MiB per export`,
          most: 10,
          value: (of(together, "peak") - of("one", "peak")) / (EXPORTS - 1),
        },
      ],
    };
  }
}
