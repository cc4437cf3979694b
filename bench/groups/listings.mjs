// All pages of a listing.
const RECORDS = 1000;
const CONNECT = "connect-node, pages";

export const title = "Listings";
export const about = `All pages of ${RECORDS} stop orders each, compared with only decoding the same pages with protobuf-es.`;

/** The sections: gRPC, and REST. */
export async function* sections({ quick, open }) {
  const pages = quick ? 50 : 200;
  const amount = pages * RECORDS;
  for (const [protocol, form, transports] of [
    ["grpc", "binary", ["grpc", "grpc-js"]],
    ["rest", "json", ["rest"]],
  ]) {
    const { url } = await open({ content: "stopOrders", protocol, pages });
    const alone = protocol === "grpc" ? "fromBinary alone" : "JSON.parse and fromJson alone";
    yield {
      title: protocol === "grpc" ? "gRPC" : "REST",
      unit: "records/s",
      scale: 1,
      cpuUnit: "CPU µs/record",
      cpuScale: 1e6,
      reference: alone,
      rows: [
        ...transports.flatMap((transport) => [
          { name: `${transport}, pages`, ours: true, peer: ["ours", "pages", { transport, url }], amount },
          { name: `${transport}, records`, ours: true, peer: ["ours", "records", { transport, url }], amount },
        ]),
        { name: alone, peer: ["parts", "decodePages", { pages, form }], amount, local: true },
        ...(protocol === "grpc" ? [{ name: CONNECT, peer: ["connect-node", "pages", { url }], amount }] : []),
      ],
      goals: () =>
        transports.flatMap((transport) => [
          {
            text: `${transport}, pages: rate relative to decoding alone`,
            least: 0.8,
            ratio: [`${transport}, pages`, alone],
          },
          ...(transport === "grpc"
            ? [{ text: "grpc, pages: rate relative to connect-node", least: 1.2, ratio: ["grpc, pages", CONNECT] }]
            : []),
        ]),
    };
  }
}
