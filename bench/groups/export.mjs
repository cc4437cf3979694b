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
  for (const [kib, least] of [
    [1024, 0.95],
    [32, 0.85],
  ]) {
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
      goals: ({ ratio }) =>
        ["grpc", "grpc-js"].flatMap((name) => [
          { text: `${name}: rate relative to ${BARE}`, least, value: ratio(name, BARE), instead: ratio(name, GO) >= 1 },
          { text: `${name}: rate relative to ${GO}; 1.0 also meets the goal`, value: ratio(name, GO) },
        ]),
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
    goals: ({ ratio }) => [{ text: "rest: rate relative to undici", least: 0.95, value: ratio("rest", "undici") }],
  };
}
