// Small calls: one after another, and many at once.
const REST = { undici: "undici", http: "node:http", fetch: "fetch", got: "got" };

export const title = "Small calls";
export const about =
  "GetNetworkParameter, one call after another and 16 and 100 at once, on as many connections as the client opens. Every client makes the message of what it receives.";

/** The sections: gRPC and REST, by how many calls there are at once. */
export async function* sections({ quick, open }) {
  const grpc = await open({ content: "parameter", protocol: "grpc" });
  const rest = await open({ content: "parameter", protocol: "rest" });
  const scaled = { unit: "calls/s", scale: 1, cpuUnit: "CPU ms/call", cpuScale: 1000 };
  for (const atOnce of [1, 16, 100]) {
    const calls = (quick ? 10_000 : 30_000) / (atOnce === 1 ? 2 : 1);
    const how = atOnce === 1 ? "one after another" : `${atOnce} at once`;
    const ours = (transport, { url }) => ({
      name: transport,
      ours: true,
      peer: ["ours", "calls", { transport, url, calls, atOnce }],
      amount: calls,
    });
    yield {
      title: `gRPC, ${how}`,
      ...scaled,
      reference: "@grpc/grpc-js",
      rows: [
        ours("grpc", grpc),
        ours("grpc-js", grpc),
        ...["connect-node", "grpc-js", "nice-grpc"].map((peer) => ({
          name: peer === "grpc-js" ? "@grpc/grpc-js" : peer,
          peer: [peer, "calls", { url: grpc.url, calls, atOnce }],
          amount: calls,
        })),
        { name: "grpc-go", go: ["calls", grpc.url, String(calls), String(atOnce)], amount: calls },
      ],
      goals: goals("grpc", "@grpc/grpc-js", { rate: 1, cpu: 1 }),
    };
    yield {
      title: `REST, ${how}`,
      ...scaled,
      reference: "undici",
      rows: [
        ours("rest", rest),
        ...Object.entries(REST).map(([peer, name]) => ({
          name,
          peer: ["rest", `${peer}Calls`, { url: rest.url, calls, atOnce }],
          amount: calls,
        })),
      ],
      goals: goals("rest", "undici", { rate: 0.85, cpu: 1.25 }),
    };
  }
}

function goals(name, peer, { rate, cpu }) {
  return () => [
    { text: `${name}: rate relative to ${peer}`, least: rate, ratio: [name, peer] },
    { text: `${name}: CPU per call relative to ${peer}`, most: cpu, ratio: [name, peer, "cpu"] },
  ];
}
