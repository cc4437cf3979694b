import type { ClientHttp2Stream } from "node:http2";

/** The interim answers (1xx) that a call takes: more are an attack, as nobody waits for their end. */
const MAX_INTERIM = 100;

/** The streams that are limited. */
const limited = new WeakSet<ClientHttp2Stream>();

/**
 * Limit the interim answers of a stream. Beyond the limit its connection is closed: the server would go on sending to a
 * stream that was reset.
 *
 * @param stream the stream; a second time nothing is done
 */
export function limitInterim(stream: ClientHttp2Stream): void {
  if (limited.has(stream)) {
    return;
  }
  limited.add(stream);
  let count = 0;
  stream.on("headers", () => {
    count += 1;
    if (count === MAX_INTERIM) {
      const reason = new Error(`more than ${MAX_INTERIM} interim answers`);
      stream.session?.destroy(Object.assign(reason, { code: "ERR_HTTP2_ERROR" }));
    }
  });
}
