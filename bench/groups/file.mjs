// An export into a file, checked, with its SHA-256, beside what one does by hand.
const MIB = 2 ** 20;
const BY_HAND = "curl && sha256sum && unzip -tq";
const TRANSPORTS = ["grpc", "rest"];

export const title = "Exports, to a verified file";
export const about =
  "tradewire's is `saveTo`: it verifies the whole archive, syncs it to disk, renames it, and computes its SHA-256.";

/** The sections: stored with the parts of the work, and deflated. */
export async function* sections({ quick, open, folder }) {
  for (const method of ["stored", "deflated"]) {
    const archive = { content: "archive", method, csvBytes: (quick ? 512 : 1024) * MIB, chunkBytes: MIB };
    const grpc = await open({ ...archive, protocol: "grpc" });
    const rest = await open({ ...archive, protocol: "rest" });
    const urls = { grpc: grpc.url, rest: rest.url };
    const amount = grpc.bytes;
    const zip = `${folder}by-hand.zip`;
    const parts = [
      { name: "receive alone: node:http2, bare", peer: ["http2", "bytes", { url: grpc.url }], amount, decodes: false },
      { name: "receive alone: node:http", peer: ["rest", "httpBytes", { url: rest.url }], amount },
      ...Object.entries({ sha256: "SHA-256 alone", crc: "CRC-32 alone", write: "write and sync alone" }).map(
        ([task, name]) => ({
          name,
          peer: ["parts", task, { bytes: amount, folder }],
          amount,
          local: true,
        }),
      ),
    ];
    yield {
      title: method === "stored" ? "stored" : "deflated CSV",
      unit: "MiB/s",
      scale: MIB,
      cpuUnit: "CPU s/GiB",
      cpuScale: 1024 * MIB,
      reference: BY_HAND,
      rows: [
        ...TRANSPORTS.map((transport) => ({
          name: `${transport}, saveTo`,
          ours: true,
          peer: ["ours", "save", { transport, url: urls[transport], folder }],
          amount,
        })),
        {
          name: BY_HAND,
          shell: `curl -sSo ${zip} ${rest.url}/export && sha256sum ${zip} && unzip -tq ${zip}`,
          needs: ["curl", "sha256sum", "unzip"],
          amount,
        },
        ...(method === "stored" ? parts : []),
      ],
      goals: ({ of, ratio }) => [
        ...TRANSPORTS.map((transport) => ({
          text: `${transport}: rate relative to the three commands`,
          least: method === "stored" ? 1.5 : 1.2,
          value: ratio(`${transport}, saveTo`, BY_HAND),
        })),
        ...(method === "stored" ? TRANSPORTS : []).map((transport, at) => ({
          text: `${transport}: CPU relative to the sum of its parts`,
          most: 1.15,
          value:
            of(`${transport}, saveTo`, "cpu") /
            [parts[at], ...parts.slice(2)].reduce((sum, { name }) => sum + of(name, "cpu"), 0),
        })),
      ],
    };
  }
}
