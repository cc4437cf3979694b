// A REST server that sends prepared answers over a TCP socket.
import { createServer } from "node:net";

const QUEUE_BYTES = 4 * 1024 * 1024;

/** Make a server that answers every request with prepared bytes. Requests have no body. */
export function createHttp1Server(answer) {
  return createServer({ highWaterMark: QUEUE_BYTES, noDelay: true }, (socket) => {
    let unread = "";
    let pieces;
    const send = () => {
      for (let taken = true; taken; ) {
        const { value, done } = pieces?.next() ?? { done: true };
        if (done) {
          pieces = undefined;
          return;
        }
        taken = socket.write(value);
      }
    };
    socket.on("error", () => socket.destroy());
    socket.on("drain", send);
    socket.on("data", (bytes) => {
      unread += bytes.toString("latin1");
      const end = unread.indexOf("\r\n\r\n");
      if (end >= 0) {
        pieces = answer(unread.slice(0, end))[Symbol.iterator]();
        unread = unread.slice(end + 4);
        send();
      }
    });
  });
}

/** Make a server that sends bytes to whoever connects, and reads nothing: the rate of the socket itself. */
export function createTcpServer(answer) {
  return createServer({ highWaterMark: QUEUE_BYTES }, (socket) => {
    const pieces = answer()[Symbol.iterator]();
    const send = () => {
      for (let taken = true; taken; ) {
        const { value, done } = pieces.next();
        if (done) {
          socket.end();
          return;
        }
        taken = socket.write(value);
      }
    };
    socket.on("error", () => socket.destroy());
    socket.on("drain", send);
    send();
  });
}

/** The head of an answer whose body comes in chunks, a whole answer of known length, and one chunk. */
export const chunkedHead = (type) =>
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`);
export const wholeAnswer = (type, body) =>
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
export const chunk = (bytes) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
