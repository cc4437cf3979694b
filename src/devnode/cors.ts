import type { RequestListener } from "node:http";

const METHODS = new Set(["HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** How long browsers may keep the answer to a preflight request, in seconds: the default of core and data node. */
const MAX_AGE = "7200";

/**
 * Let pages of any origin read the answers of a gateway, as the gateways of core and data node do with their defaults:
 * `libs/http/cors.go`, `core/api/config.go` and `datanode/gateway/config.go` of v0.78.0, with github.com/rs/cors 1.8.3.
 *
 * Preflight requests (`OPTIONS` with `Access-Control-Request-Method`) are answered with 204, and never reach the gateway.
 *
 * @param gateway answers all other requests
 * @returns a request listener for Node's HTTP server
 */
export function withCors(gateway: RequestListener): RequestListener {
  return (request, response) => {
    const { origin = "" } = request.headers;
    const asked = request.headers["access-control-request-method"] ?? "";
    if (request.method !== "OPTIONS" || asked === "") {
      response.appendHeader("Vary", "Origin");
      if (origin !== "" && METHODS.has(request.method ?? "")) {
        response.setHeader("Access-Control-Allow-Origin", origin).setHeader("Access-Control-Expose-Headers", "*");
      }
      gateway(request, response);
      return;
    }
    response.setHeader("Vary", ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"]);
    if (origin !== "" && METHODS.has(asked.toUpperCase())) {
      const names = headerNames(request.headers["access-control-request-headers"] ?? "");
      response
        .setHeader("Access-Control-Allow-Origin", origin)
        .setHeader("Access-Control-Allow-Methods", asked.toUpperCase())
        .setHeader("Access-Control-Max-Age", MAX_AGE);
      if (names !== "") {
        response.setHeader("Access-Control-Allow-Headers", names);
      }
    }
    response.writeHead(204).end();
  };
}

/** The names of a list, in the form of HTTP/1.1: `Content-Type`. */
function headerNames(list: string): string {
  const names = list.match(/[\w.-]+/g) ?? [];
  return names
    .map((name) => name.toLowerCase().replace(/(?<=^|[-_])[a-z]/g, (letter) => letter.toUpperCase()))
    .join(", ");
}
