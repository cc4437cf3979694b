import { type AddressInfo, createServer, type Socket } from "node:net";

/** What a server does after a request's header, for which nghttp2 gives up the whole session (RFC 9113). */
export type Violation = "large trailer" | "broken HPACK" | "DATA on stream 0" | "oversized frame" | "1xx storm";

/** The types and flags of frames. */
const [DATA, HEADERS, SETTINGS, PING, CONTINUATION] = [0, 1, 4, 6, 9];
const [ACK, END_STREAM, END_HEADERS] = [1, 1, 4];
const FRAME_HEAD = 9;
const PREFACE = 24;
/** The largest frame that a client takes by default. */
const MAX_FRAME = 16_384;

const STATUS_200 = Buffer.of(0x88);
const HEADER = Buffer.concat([STATUS_200, field("content-type", "application/grpc+proto")]);

/** A server on 127.0.0.1 that breaks the rules of HTTP/2, byte by byte. */
export interface BreakingServer {
  readonly url: string;
  /** The connections that were made. */
  readonly connections: readonly Socket[];
  close(): Promise<void>;
}

/** Start a server that speaks HTTP/2 until the header of a request comes. */
export async function serveViolation(violation: Violation): Promise<BreakingServer> {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on("error", () => undefined);
    socket.write(frame(SETTINGS, 0, 0));
    let bytes = Buffer.alloc(0);
    let isBegun = false;
    socket.on("data", (piece) => {
      bytes = Buffer.concat([bytes, piece]);
      if (!isBegun && bytes.length >= PREFACE) {
        isBegun = true;
        bytes = bytes.subarray(PREFACE);
      }
      while (isBegun && bytes.length >= FRAME_HEAD) {
        const end = FRAME_HEAD + bytes.readUIntBE(0, 3);
        if (bytes.length < end) {
          return;
        }
        const [type, flags, stream] = [bytes[3], bytes[4] ?? 0, bytes.readUInt32BE(5)];
        if (type === SETTINGS && (flags & ACK) === 0) {
          socket.write(frame(SETTINGS, ACK, 0));
        } else if (type === PING && (flags & ACK) === 0) {
          socket.write(frame(PING, ACK, 0, bytes.subarray(FRAME_HEAD, end)));
        } else if (type === HEADERS) {
          violate(violation, stream, socket);
        }
        bytes = bytes.subarray(end);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of connections) {
          socket.destroy();
        }
      }),
  };
}

function violate(violation: Violation, stream: number, socket: Socket): void {
  switch (violation) {
    case "large trailer": {
      const block = Buffer.concat([field("grpc-status", "0"), field("x", "a".repeat(100_000))]);
      socket.write(frame(HEADERS, END_HEADERS, stream, HEADER));
      for (let at = 0; at < block.length; at += MAX_FRAME) {
        const flags = (at === 0 ? END_STREAM : 0) | (at + MAX_FRAME >= block.length ? END_HEADERS : 0);
        socket.write(frame(at === 0 ? HEADERS : CONTINUATION, flags, stream, block.subarray(at, at + MAX_FRAME)));
      }
      break;
    }
    case "broken HPACK":
      socket.write(frame(HEADERS, END_HEADERS, stream, Buffer.alloc(5, 0xff)));
      break;
    case "DATA on stream 0":
      socket.write(frame(HEADERS, END_HEADERS, stream, HEADER));
      socket.write(frame(DATA, 0, 0, Buffer.from("abc")));
      break;
    case "oversized frame":
      socket.write(frame(HEADERS, END_HEADERS, stream, HEADER));
      socket.write(frame(DATA, 0, stream, Buffer.alloc(MAX_FRAME + 1)));
      break;
    case "1xx storm": {
      const hints = frame(HEADERS, END_HEADERS, stream, Buffer.concat([Buffer.of(0x08, 3), Buffer.from("103")]));
      const storm = Buffer.concat(Array.from({ length: 1000 }, () => hints));
      const send = () => {
        if (!socket.destroyed) {
          socket.write(storm, () => setImmediate(send));
        }
      };
      send();
      break;
    }
  }
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A field that is not indexed, with its name (RFC 7541, 6.2.2). */
function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0), hpackText(name), hpackText(value)]);
}

function hpackText(text: string): Buffer {
  const prefix: number[] = [];
  let rest = text.length;
  if (rest < 127) {
    prefix.push(rest);
  } else {
    prefix.push(127);
    for (rest -= 127; rest >= 128; rest = Math.floor(rest / 128)) {
      prefix.push((rest % 128) + 128);
    }
    prefix.push(rest);
  }
  return Buffer.concat([Buffer.from(prefix), Buffer.from(text)]);
}
