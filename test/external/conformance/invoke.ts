import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { create, createRegistry, type Message } from "@bufbuild/protobuf";
import { AnySchema, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Caller, MethodName } from "./caller.js";
import {
  type ClientCompatRequest,
  type ClientResponseResult,
  ClientResponseResultSchema,
} from "./gen/connectrpc/conformance/v1/client_compat_pb.js";
import { StreamType } from "./gen/connectrpc/conformance/v1/config_pb.js";
import {
  ConformancePayloadSchema,
  ConformanceService,
  ErrorSchema,
  file_connectrpc_conformance_v1_service,
  type Header,
  HeaderSchema,
} from "./gen/connectrpc/conformance/v1/service_pb.js";

const registry = createRegistry(file_connectrpc_conformance_v1_service);

/**
 * Make the call that the suite asks for, and cancel it where the suite says so.
 *
 * @throws Error where the suite's service has no such method or message
 */
export async function invoke(request: ClientCompatRequest, caller: Caller): Promise<ClientResponseResult> {
  const abort = new AbortController();
  const timing = request.cancel?.cancelTiming;
  const isFullDuplex = request.streamType === StreamType.FULL_DUPLEX_BIDI_STREAM;
  const messages = unpacked(request);
  const result = create(ClientResponseResultSchema, { numUnsentRequests: messages.length });
  const progress = new EventEmitter();
  let isOver = false;

  async function* sending(): AsyncGenerator<Message> {
    for (const [at, message] of messages.entries()) {
      await sleep(request.requestDelayMs);
      yield message;
      result.numUnsentRequests -= 1;
      while (isFullDuplex && !isOver && result.payloads.length <= at) {
        await once(progress, "step");
      }
    }
    if (timing?.case === "beforeCloseSend") {
      abort.abort();
    } else if (timing !== undefined && timing.case !== "afterNumResponses") {
      setTimeout(() => abort.abort(), timing.value ?? 0);
    }
  }

  try {
    const answers = caller.call(methodNamed(request.method), sending(), {
      headers: headersOf(request),
      timeoutMs: request.timeoutMs,
      signal: abort.signal,
      onHeader(headers) {
        result.responseHeaders = listed(headers);
      },
      onTrailer(trailers) {
        result.responseTrailers = listed(trailers);
      },
    });
    for await (const { payload } of answers) {
      result.payloads.push(payload ?? create(ConformancePayloadSchema));
      if (timing?.case === "afterNumResponses" && timing.value === result.payloads.length) {
        abort.abort();
      }
      progress.emit("step");
    }
  } catch (reason) {
    const { metadata, details, ...failure } = caller.failure(reason);
    // Header and trailer come as one where a client gives no others.
    result.responseHeaders = result.responseHeaders.length > 0 ? result.responseHeaders : listed(metadata);
    result.responseTrailers = listed(metadata);
    result.error = create(ErrorSchema, {
      ...failure,
      details: details.map(({ type, value }) => create(AnySchema, { typeUrl: `type.googleapis.com/${type}`, value })),
    });
  } finally {
    isOver = true;
    progress.emit("step");
  }
  return result;
}

function unpacked({ requestMessages }: ClientCompatRequest): Message[] {
  return requestMessages.map((any) => {
    const message = anyUnpack(any, registry);
    if (message === undefined) {
      throw new Error(`the suite's service has no ${any.typeUrl}`);
    }
    return message;
  });
}

function methodNamed(name: string | undefined): MethodName {
  const found = ConformanceService.methods.find((method) => method.name === name)?.localName;
  if (found === undefined || !isMethodName(found)) {
    throw new Error(`the suite's service has no method ${name}`);
  }
  return found;
}

function isMethodName(name: string): name is MethodName {
  return name in ConformanceService.method;
}

function headersOf({ requestHeaders }: ClientCompatRequest): Headers {
  return new Headers(requestHeaders.flatMap(({ name, value }) => value.map((each): [string, string] => [name, each])));
}

function listed(headers: Headers): Header[] {
  return [...headers].map(([name, value]) => create(HeaderSchema, { name, value: [value] }));
}
