// Bare node:http2 with windows as large as ours: what any gRPC client in Node stands on. It decodes nothing.
import { connect } from "node:http2";

const WINDOW_BYTES = 16 * 1024 * 1024;

export function bytes({ url }) {
  return new Promise((resolve, reject) => {
    const session = connect(url, { settings: { initialWindowSize: WINDOW_BYTES, enablePush: false } });
    session.on("connect", () => session.setLocalWindowSize(WINDOW_BYTES));
    const stream = session.request({
      ":method": "POST",
      ":path": "/datanode.api.v2.TradingDataService/ExportNetworkHistory",
      "content-type": "application/grpc+proto",
      te: "trailers",
    });
    let bytes = 0;
    stream.on("data", (piece) => {
      bytes += piece.length;
    });
    stream.on("error", reject);
    stream.on("end", () => resolve(bytes));
    stream.end(Buffer.alloc(5));
  });
}
