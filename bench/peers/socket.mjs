// A bare TCP socket, and one that speaks just enough HTTP/2 to take all that the server can send: the server's own rate.
import { connect } from "node:net";

const BUFFER = Buffer.alloc(1024 * 1024);
const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from("000006040000000000" + "00047fffffff", "hex"), // The largest window for streams.
  Buffer.from("000004080000000000" + "7fff0000", "hex"), // The same for the connection.
  Buffer.from("000001010500000001" + "83", "hex"), // A request, :method POST, on stream 1, with no body.
]);
/** The windows hold 2 GiB; they are widened by this before they run out. */
const MORE_BYTES = 1024 * 1024 * 1024;
const MORE = Buffer.from("000004080000000000" + "40000000" + "000004080000000001" + "40000000", "hex");

/** Bytes of a plain TCP connection, until its end. */
export function tcp({ url }) {
  return read(url, () => undefined);
}

/** Bytes of an HTTP/2 connection, until a frame that ends the stream: its frames and all. */
export function http2({ url }) {
  let widened = 0;
  return read(
    url,
    (socket, bytes, last) => {
      if (bytes - widened >= MORE_BYTES) {
        widened += MORE_BYTES;
        socket.write(MORE);
      }
      return last.includes("grpc-status");
    },
    PREFACE,
  );
}

function read(url, look, first) {
  const { port, hostname: host } = new URL(url);
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const socket = connect({
      port,
      host,
      onread: {
        buffer: BUFFER,
        callback(length, buffer) {
          bytes += length;
          if (look(socket, bytes, buffer.subarray(Math.max(0, length - 64), length))) {
            socket.destroy();
          }
          return true;
        },
      },
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(bytes));
    if (first !== undefined) {
      socket.write(first);
    }
  });
}
