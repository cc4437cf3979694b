// An export to nowhere: how fast do bytes arrive?
const MIB = 2 ** 20;
const BARE = "node:http2, bare";
const GO = "grpc-go";

export const title = "Exports, discarded";
export const about = `A stored archive is read and discarded. "${BARE}" decodes nothing; the other libraries are used as their documentation shows.`;

/** The sections: gRPC with large and with small chunks, and REST. */
export async function* sections({ quick, open }) {
  const archive = { content: "archive", method: "stored", csvBytes: (quick ? 512 : 1024) * MIB };
  const scaled = { unit: "MiB/s", scale: MIB, cpuUnit: "CPU s/GiB", cpuScale: 1024 * MIB };
  for (const kib of [1024, 32]) {
    const { url, bytes: amount } = await open({ ...archive, protocol: "grpc", chunkBytes: kib * 1024 });
    yield {
      title: `gRPC, chunks of ${kib} KiB`,
      ...scaled,
      reference: BARE,
      rows: [
        ...["grpc", "grpc-js"].map((transport) => ({
          name: transport,
          ours: true,
          peer: ["ours", "bytes", { transport, url }],
          amount,
        })),
        { name: BARE, peer: ["http2", "bytes", { url }], amount, decodes: false },
        { name: GO, go: ["bytes", url], amount },
        ...["connect-node", "grpc-js", "nice-grpc"].map((peer) => ({
          name: peer === "grpc-js" ? "@grpc/grpc-js" : peer,
          peer: [peer, "bytes", { url }],
          amount,
        })),
        { name: "socket that speaks HTTP/2 frames", peer: ["socket", "http2", { url }], amount, decodes: false },
      ],
      goals: () => [
        { text: `grpc: rate relative to ${BARE}`, least: 0.9, ratio: ["grpc", BARE] },
        { text: `grpc: CPU relative to ${BARE}`, most: 1.2, ratio: ["grpc", BARE, "cpu"] },
        { text: "grpc: rate relative to @grpc/grpc-js", least: 1, ratio: ["grpc", "@grpc/grpc-js"] },
        { text: "grpc: CPU relative to @grpc/grpc-js", most: 1, ratio: ["grpc", "@grpc/grpc-js", "cpu"] },
        { text: `grpc: rate relative to ${GO}`, ratio: ["grpc", GO] },
      ],
    };
  }
  const { url, bytes: amount } = await open({ ...archive, protocol: "rest", chunkBytes: MIB });
  const tcp = await open({ ...archive, protocol: "tcp", chunkBytes: MIB });
  yield {
    title: "REST, chunks of 1 MiB",
    ...scaled,
    reference: "undici",
    rows: [
      { name: "rest", ours: true, peer: ["ours", "bytes", { transport: "rest", url }], amount },
      ...["undici", "http", "fetch", "got"].map((peer) => ({
        name: peer === "http" ? "node:http" : peer,
        peer: ["rest", `${peer}Bytes`, { url }],
        amount,
      })),
      { name: "curl", shell: `curl -sSo /dev/null ${url}/api/v2/networkhistory/export`, needs: ["curl"], amount },
      { name: "bare TCP socket", peer: ["socket", "tcp", { url: tcp.url }], amount },
    ],
    goals: ({ of }) => [
      {
        text: "rest: rate relative to the slower of got and node:http",
        least: 0.95,
        ratio: ["rest", of("got") < of("node:http") ? "got" : "node:http"],
      },
      { text: "rest: CPU relative to node:http", most: 1.05, ratio: ["rest", "node:http", "cpu"] },
    ],
  };
}
