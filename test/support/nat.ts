import { connect, type Socket } from "node:net";
import { serveTcp } from "./node.js";

/** A NAT that forgets its connections without closing them: from then on, nothing goes through those that are open. */
export async function startNat(target: string) {
  const forgotten = new Set<Socket>();
  const known = new Set<Socket>();
  let bytes = 0;
  const front = await serveTcp((socket) => {
    known.add(socket);
    const back = connect({ port: Number(new URL(target).port), host: "127.0.0.1", noDelay: true });
    socket.setNoDelay(true); // Virtual time would not wait for what TCP delays.
    back.on("error", () => undefined);
    const forward = (to: Socket) => (part: Buffer) => {
      bytes += part.length;
      return forgotten.has(socket) || to.write(part);
    };
    back.on("data", forward(socket));
    socket.on("data", forward(back));
    socket.on("close", () => back.destroy());
  });
  return {
    url: front.url,
    count: front.count,
    bytes: () => bytes,
    forget() {
      for (const socket of known) {
        forgotten.add(socket);
      }
    },
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}
