import type { Http2Session } from "node:http2";
import { startImmediate } from "./index.js";

/**
 * Has a session be destroyed only when its input has been processed. Node resets the session's streams at once, and nghttp2 then
 * frees even the one whose frame it is processing (Node 20.20.2, `Http2Stream::SubmitRstStream` in src/node_http2.cc). If a
 * callback of that frame destroys the session, or a promise that it settles, the heap is damaged, and the process aborts some
 * time later. Resets with the code `CANCEL` are delayed by Node itself. `onDestroy` is called at once.
 */
export function destroyAfterInput(session: Http2Session, onDestroy?: () => void): void {
  const destroy = session.destroy.bind(session);
  let isDestroying = false;
  session.destroy = (reason, code) => {
    if (!isDestroying) {
      isDestroying = true;
      onDestroy?.();
      startImmediate(() => destroy(reason, code));
    }
  };
}
