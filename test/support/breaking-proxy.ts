import { connect } from "node:net";
import { serveTcp } from "./node.js";

/** A proxy of TCP connections that can begin to falsify what the server sends. */
export interface BreakingProxy extends AsyncDisposable {
  readonly url: string;
  /** Falsify every byte from now on. */
  breakNow(): void;
}

/** Start a proxy. */
export async function startBreakingProxy(target: string): Promise<BreakingProxy> {
  const { protocol, hostname, port } = new URL(target);
  let broken = false;
  const front = await serveTcp((socket) => {
    const back = connect(Number(port), hostname);
    back.on("error", () => socket.destroy());
    back.on("data", (bytes) => socket.write(broken ? bytes.map((byte, at) => (at < 5 ? byte : byte ^ 0xff)) : bytes));
    back.on("close", () => socket.destroy());
    socket.on("close", () => back.destroy());
    socket.pipe(back);
  });
  return {
    url: front.url.replace("http:", protocol),
    breakNow() {
      broken = true;
    },
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}
