// Small calls, 16 at once.
const REST = { undici: "undici", http: "node:http", fetch: "fetch", got: "got" };

export const title = "Small calls";
export const about =
  "GetNetworkParameter, 16 calls at once, on as many connections as the client opens, with all checks on.";

/** The sections: gRPC and REST. */
export async function* sections({ quick, open }) {
  const calls = quick ? 10_000 : 30_000;
  const grpc = await open({ content: "parameter", protocol: "grpc" });
  const rest = await open({ content: "parameter", protocol: "rest" });
  const scaled = { unit: "calls/s", scale: 1, cpuUnit: "CPU ms/call", cpuScale: 1000 };
  const ours = (transport, { url }) => ({
    name: transport,
    ours: true,
    peer: ["ours", "calls", { transport, url, calls }],
    amount: calls,
  });
  const goals =
    (names, peer, least) =>
    ({ ratio }) =>
      names.flatMap((name) => [
        { text: `${name}: rate relative to ${peer}`, least, value: ratio(name, peer) },
        { text: `${name}: CPU per call relative to ${peer}`, most: 1, value: ratio(name, peer, "cpu") },
      ]);
  yield {
    title: "gRPC",
    ...scaled,
    reference: "connect-node",
    rows: [
      ours("grpc", grpc),
      ours("grpc-js", grpc),
      ...["connect-node", "grpc-js", "nice-grpc"].map((peer) => ({
        name: peer === "grpc-js" ? "@grpc/grpc-js" : peer,
        peer: [peer, "calls", { url: grpc.url, calls }],
        amount: calls,
      })),
      { name: "grpc-go", go: ["calls", grpc.url, String(calls)], amount: calls },
    ],
    goals: goals(["grpc", "grpc-js"], "connect-node", 1.1),
  };
  yield {
    title: "REST",
    ...scaled,
    reference: "undici",
    rows: [
      ours("rest", rest),
      ...Object.entries(REST).map(([peer, name]) => ({
        name,
        peer: ["rest", `${peer}Calls`, { url: rest.url, calls }],
        amount: calls,
      })),
    ],
    goals: goals(["rest"], "undici", 1),
  };
}
