// A node on the wire that plays recorded answers: HTTP/2 for gRPC, HTTP/1.1 for REST.
import { once } from "node:events";
import { createServer } from "node:http";
import { create, fromJson, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";
import { failureTrailers, frame, type GrpcAnswer, startGrpcServer } from "../support/grpc-server.js";
import { httpStatusOf } from "../support/http-status.js";
import { methodNamed, type RecordedCall } from "./recorded.js";

const ERROR_DETAIL = "type.googleapis.com/vega.ErrorDetail";

/** A node that answers every call with the same recorded answer. */
export interface PlayingNode extends AsyncDisposable {
  readonly grpcUrl: string;
  readonly restUrl: string;
  /** Sets the answer to the calls that follow. */
  play(call: RecordedCall): void;
  /** The methods of gRPC that were called, or the paths of REST, in their order. */
  readonly asked: readonly string[];
}

/** Starts a node. It answers nothing before it is told what to play. */
export async function startPlayingNode(): Promise<PlayingNode> {
  const asked: string[] = [];
  const grpc = await startGrpcServer();
  let now: RecordedCall | undefined;
  grpc.answer = ({ headers }) => {
    asked.push(String(headers[":path"]).slice(1));
    return now === undefined ? { ending: "end" } : grpcAnswer(now);
  };
  const rest = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume();
    const { status, body } = now === undefined ? { status: 500, body: {} } : restAnswer(now);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  rest.listen(0, "127.0.0.1");
  await once(rest, "listening");
  const address = rest.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    grpcUrl: grpc.url,
    restUrl: `http://127.0.0.1:${port}`,
    asked,
    play(call) {
      now = call;
    },
    async [Symbol.asyncDispose]() {
      rest.closeAllConnections();
      rest.close();
      await Promise.all([once(rest, "close"), grpc.close()]);
    },
  };
}

function grpcAnswer(call: RecordedCall): GrpcAnswer {
  if (call.error === undefined) {
    const { output } = methodNamed(call.method);
    return { pieces: [frame(toBinary(output, fromJson(output, call.answer)))], ending: { "grpc-status": "0" } };
  }
  const { code, message, details = [] } = call.error;
  const packed = details.map((detail) =>
    create(AnySchema, { typeUrl: ERROR_DETAIL, value: toBinary(ErrorDetailSchema, create(ErrorDetailSchema, detail)) }),
  );
  return { ending: failureTrailers({ code, message, details: packed }) };
}

function restAnswer(call: RecordedCall): { readonly status: number; readonly body: unknown } {
  if (call.error === undefined) {
    return { status: 200, body: call.answer };
  }
  const { code, message, details = [] } = call.error;
  const body = { code, message, details: details.map((detail) => ({ "@type": ERROR_DETAIL, ...detail })) };
  return { status: httpStatusOf(code), body };
}
