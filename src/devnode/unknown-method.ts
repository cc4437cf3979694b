import { Code } from "@connectrpc/connect";
import type { ConnectNodeAdapterOptions } from "@connectrpc/connect-node";

/**
 * Answer a call of a method that the server does not have. As gRPC servers do, it says UNIMPLEMENTED in trailers behind
 * HTTP status 200; who does not speak gRPC gets a 404.
 *
 * @param request the call
 * @param response the answer, which is completed
 */
export const answerUnknownMethod: NonNullable<ConnectNodeAdapterOptions["fallback"]> = (request, response) => {
  const contentType = request.headers["content-type"] ?? "";
  if (!/^application\/grpc($|[+;])/.test(contentType)) {
    response.statusCode = 404;
    response.end();
    return;
  }
  request.resume(); // What the caller still sends is not read.
  const [, service = "", method = ""] = (request.url ?? "").split("/");
  response.setHeader("content-type", contentType);
  response.write(""); // Without it, headers would end the stream, and there would be no trailers.
  response.addTrailers({
    "grpc-status": String(Code.Unimplemented),
    "grpc-message": encodeURIComponent(`unknown method ${method} for service ${service}`).replaceAll("%20", " "),
  });
  response.end();
};
