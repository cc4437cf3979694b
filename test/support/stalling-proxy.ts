import { connect } from "node:net";
import { serveTcp } from "./node.js";

/** A proxy of TCP connections that can stop forwarding, as if the network between had gone: no socket closes. */
export interface StallingProxy extends AsyncDisposable {
  readonly url: string;
  /** Forward nothing from now on. */
  stall(): void;
}

/** Start a proxy. */
export async function startStallingProxy(target: string): Promise<StallingProxy> {
  const { hostname, port } = new URL(target);
  let stalled = false;
  const front = await serveTcp((socket) => {
    const back = connect(Number(port), hostname);
    back.on("error", () => undefined);
    back.on("data", (bytes) => stalled || socket.write(bytes));
    socket.on("data", (bytes) => stalled || back.write(bytes));
    socket.on("close", () => back.destroy());
  });
  return {
    url: front.url,
    stall() {
      stalled = true;
    },
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}
