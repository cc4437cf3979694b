// A gRPC server that sends prepared frames over a TCP socket, within the client's flow control. Node's own HTTP/2 server
// is slower than the fastest of the clients here.
import { createServer } from "node:net";

const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;
const FRAME_BYTES = 16_384;
const WINDOW_BYTES = 65_535;
const MAX_WINDOW_BYTES = 2 ** 31 - 1;
const QUEUE_BYTES = 4 * 1024 * 1024;
const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 8];
const [MAX_STREAMS, WINDOW] = [3, 4];
const [ACK, END_STREAM, END_HEADERS, PADDED] = [1, 1, 4, 8];

const header = (name, value) => Buffer.from(`\0${lengthOf(name)}${name}${lengthOf(value)}${value}`, "latin1");
const lengthOf = (text) => String.fromCharCode(text.length);
const RESPONSE = Buffer.concat([Buffer.from([0x88]), header("content-type", "application/grpc+proto")]);
const TRAILERS = header("grpc-status", "0");

/** Make a server that answers every call with prepared messages. */
export function createHttp2Server(answer) {
  return createServer({ highWaterMark: QUEUE_BYTES, noDelay: true }, (socket) => serve(socket, answer));
}

/** Behind the messages of a stream that does not end. */
export const OPEN = Symbol("open");

/** Prepare a message; its frames are kept for each stream that it was sent on. */
export function prepare(bytes) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return { bytes: Buffer.concat([head, bytes]), frames: new Map() };
}

function serve(socket, answer) {
  const streams = new Map();
  const client = { window: WINDOW_BYTES, streamWindow: WINDOW_BYTES };
  let unread = Buffer.alloc(0);
  let begun = false;
  let isFull = false;
  const write = (bytes) => {
    isFull = !socket.write(bytes) || isFull;
  };

  socket.on("error", () => socket.destroy());
  socket.on("drain", () => {
    isFull = false;
    pump();
  });
  socket.on("data", (bytes) => {
    unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes]);
    socket.cork();
    if (!begun && unread.length >= PREFACE_BYTES) {
      begun = true;
      unread = unread.subarray(PREFACE_BYTES);
      write(frame(SETTINGS, 0, 0, Buffer.concat([setting(MAX_STREAMS, 1024), setting(WINDOW, MAX_WINDOW_BYTES)])));
      write(frame(WINDOW_UPDATE, 0, 0, number(MAX_WINDOW_BYTES - WINDOW_BYTES)));
    }
    while (begun && unread.length >= HEAD_BYTES && unread.length >= HEAD_BYTES + unread.readUIntBE(0, 3)) {
      const end = HEAD_BYTES + unread.readUIntBE(0, 3);
      take(unread[3], unread[4], unread.readUInt32BE(5), unread.subarray(HEAD_BYTES, end));
      unread = unread.subarray(end);
    }
    pump();
    socket.uncork();
  });

  function take(type, flags, id, payload) {
    if (type === SETTINGS && !(flags & ACK)) {
      for (let at = 0; at < payload.length; at += 6) {
        if (payload.readUInt16BE(at) === WINDOW) {
          const more = payload.readUInt32BE(at + 2) - client.streamWindow;
          client.streamWindow += more;
          streams.forEach((stream) => {
            stream.window += more;
          });
        }
      }
      write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    } else if (type === PING && !(flags & ACK)) {
      write(frame(PING, ACK, 0, payload));
    } else if (type === WINDOW_UPDATE) {
      const target = id === 0 ? client : streams.get(id);
      if (target !== undefined) {
        target.window += payload.readUInt32BE(0);
      }
    } else if (type === RST_STREAM) {
      streams.delete(id);
    } else if (type === HEADERS) {
      streams.set(id, { id, window: client.streamWindow, request: [], messages: undefined, at: 0, current: undefined });
    } else if (type === DATA && !(flags & PADDED)) {
      streams.get(id)?.request.push(payload);
    }
    const stream = streams.get(id);
    if ((type === DATA || type === HEADERS) && flags & END_STREAM && stream !== undefined) {
      stream.messages = answer(Buffer.concat(stream.request))[Symbol.iterator]();
      write(frame(HEADERS, END_HEADERS, id, RESPONSE));
      next(stream);
    }
  }

  /** Send what the windows and the socket take, a message of each stream in turn. */
  function pump() {
    socket.cork();
    for (let moved = true; moved && !isFull; ) {
      moved = false;
      for (const stream of streams.values()) {
        moved = (stream.current !== undefined && !isFull && send(stream)) || moved;
      }
    }
    socket.uncork();
  }

  function next(stream) {
    const { value, done } = stream.messages.next();
    stream.current = value === OPEN ? undefined : value;
    stream.at = 0;
    if (done) {
      write(frame(HEADERS, END_HEADERS | END_STREAM, stream.id, TRAILERS));
      streams.delete(stream.id);
    }
  }

  function send(stream) {
    const { current, at, id } = stream;
    const room = Math.min(client.window, stream.window);
    let sent = current.bytes.length;
    if (at === 0 && sent <= room) {
      write(framed(current, id));
    } else {
      sent = Math.min(room, FRAME_BYTES, current.bytes.length - at);
      if (sent <= 0) {
        return false;
      }
      write(frame(DATA, 0, id, current.bytes.subarray(at, at + sent)));
    }
    client.window -= sent;
    stream.window -= sent;
    stream.at += sent;
    if (stream.at === current.bytes.length) {
      next(stream);
    }
    return true;
  }
}

/** The frames of a message; those of a few streams are kept. */
function framed({ bytes, frames }, id) {
  const known = frames.get(id);
  if (known !== undefined) {
    return known;
  }
  const parts = [];
  for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
    parts.push(frame(DATA, 0, id, bytes.subarray(at, at + FRAME_BYTES)));
  }
  const whole = Buffer.concat(parts);
  if (id < 64) {
    frames.set(id, whole);
  }
  return whole;
}

function frame(type, flags, id, payload) {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(id, 5);
  bytes.set(payload, HEAD_BYTES);
  return bytes;
}

function setting(name, value) {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(name, 0);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

function number(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}
