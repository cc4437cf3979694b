import type { Agent } from "node:http";
import { connect } from "../../runtime/index.js";

/** How much is read from a connection at once, in bytes. A larger piece costs V8 more collections than it spares calls. */
const READ_BYTES = 256 * 1024;

/** What all connections are read into: each piece is parsed, or copied, before the next one comes. */
const room = Buffer.allocUnsafeSlow(READ_BYTES);

/**
 * Have the connections of an agent be read into memory that they share. By itself Node makes new memory for each 64 KiB
 * that it reads, although its parser copies the bodies out of it.
 *
 * @param agent an agent for HTTP in clear text
 * @returns the agent
 */
export function withSharedReads(agent: Agent): Agent {
  agent.createConnection = ({ host, port, ...options }) => {
    const callback = (size: number) => {
      const read = room.subarray(0, size);
      const isTakenAtOnce = socket?.readableFlowing === true && socket.readableLength === 0;
      return socket?.push(isTakenAtOnce ? read : Buffer.from(read)) ?? false;
    };
    const reading = { onread: { buffer: room, callback } };
    const socket = connect({ ...options, ...reading, host: host ?? "localhost", port: Number(port) });
    return socket;
  };
  return agent;
}

/**
 * Make a piece of a body one's own, should Node's parser not have copied it.
 *
 * @param piece the piece, as a response gives it
 * @returns the piece, which nothing else is read into
 */
export function ownPiece(piece: Buffer): Buffer {
  return piece.buffer === room.buffer ? Buffer.from(piece) : piece;
}
