// How much memory does an export take, and does it grow with the export?
const MIB = 2 ** 20;
const EMPTY = "an empty Node process";
const BEYOND_MIB = 130;
/** What two runs of the same differ by, as the garbage collector has it. */
const FLAT_MIB = 32;

export const title = "Memory";
export const about =
  "The peak memory (maximum resident set) of a process that reads and discards an export, by the size of the export and of its chunks.";

/** A section for each transport. */
export async function* sections({ quick, open }) {
  const sizes = quick ? [64, 1024] : [64, 1024, 8192];
  const chunks = quick ? [32, 4096] : [32, 1024, 4096];
  for (const transport of ["grpc", "grpc-js", "rest"]) {
    const rows = [{ name: EMPTY, peer: ["nothing", "nothing", {}], local: true }];
    for (const kib of chunks) {
      for (const mib of sizes) {
        const protocol = transport === "rest" ? "rest" : "grpc";
        const archive = { content: "archive", method: "stored", csvBytes: mib * MIB, chunkBytes: kib * 1024 };
        const { url, bytes: amount } = await open({ ...archive, protocol });
        rows.push({ name: nameOf(mib, kib), ours: true, peer: ["ours", "bytes", { transport, url }], amount });
      }
    }
    yield {
      title: transport,
      unit: "MiB/s",
      scale: MIB,
      cpuUnit: "CPU s/GiB",
      cpuScale: 1024 * MIB,
      plot: "peak",
      rounds: quick ? 1 : 3,
      rows,
      goals: ({ of }) =>
        chunks.flatMap((kib) => {
          const peaks = sizes.map((mib) => of(nameOf(mib, kib), "peak"));
          return [
            {
              text: `${transport}, chunks of ${kib} KiB: MiB more than an empty process and four chunks`,
              most: BEYOND_MIB,
              value: Math.max(...peaks) - of(EMPTY, "peak") - (4 * kib) / 1024,
            },
            {
              text: `${transport}, chunks of ${kib} KiB: MiB more for ${sizes.at(-1)} MiB than for ${sizes[0]} MiB`,
              most: FLAT_MIB,
              value: peaks.at(-1) - peaks[0],
            },
          ];
        }),
    };
  }
}

function nameOf(mib, kib) {
  return `${mib} MiB, chunks of ${kib} KiB`;
}
