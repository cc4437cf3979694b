// Servers that have nothing to do with the network: their start, and calls of their methods over each transport.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { createGrpcJsTransport, createGrpcTransport, createRestTransport } from "tradewire/transport";
import { finish } from "./processes.mjs";

/** How long a server may take until it answers, in milliseconds. */
const START_MS = 60_000;

/** Start a server, and wait until it answers at a URL. */
export async function serve(command, args, url) {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  const err = text(child.stderr);
  const ended = once(child, "close");
  const stop = () => {
    child.kill();
    return ended;
  };
  const end = Date.now() + START_MS;
  while (child.exitCode === null && Date.now() < end) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response !== undefined) {
      return stop;
    }
    await pause(100);
  }
  await stop();
  throw new Error(`${command} does not answer at ${url}\n${(await err).slice(-1000)}`);
}

/** The transports to a server that serves gRPC and its gateway at URLs. */
export function transportsTo(grpcUrl, restUrl, options = {}) {
  return {
    grpc: createGrpcTransport({ url: grpcUrl }),
    "grpc-js": createGrpcJsTransport({ url: grpcUrl }),
    rest: createRestTransport({ url: restUrl, ...options }),
  };
}

/** The answers to a call in JSON, as many as are wanted, and how it failed. */
export async function callOf(transport, method, requests, { limit = Number.POSITIVE_INFINITY } = {}) {
  const messages = [];
  const inputs = [requests].flat().map((request) => fromJson(method.input, request));
  const end = new AbortController();
  try {
    if (method.methodKind === "unary") {
      const { message } = await transport.unary(method, undefined, undefined, undefined, inputs[0]);
      return { messages: [toJson(method.output, message)] };
    }
    const { message } = await transport.stream(
      method,
      end.signal,
      undefined,
      undefined,
      given(inputs, end.signal, limit),
    );
    for await (const each of message) {
      if (messages.push(toJson(method.output, each)) >= limit) {
        break;
      }
    }
    return { messages };
  } catch (reason) {
    const { code, rawMessage } = ConnectError.from(reason);
    return { messages, error: { code, message: rawMessage } };
  } finally {
    end.abort();
  }
}

/** Requests, which do not end before the answers if only some of those are wanted. */
async function* given(inputs, signal, limit) {
  yield* inputs;
  if (Number.isFinite(limit) && !signal.aborted) {
    await once(signal, "abort");
  }
}

/** The command, which calls a server by the definitions that it gives through server reflection. */
export function commandOf(root, setUp, { environment = {}, header } = {}) {
  async function command(...args) {
    const { grpcUrl, restUrl } = await setUp();
    const more = ["--grpc-url", grpcUrl, "--rest-url", restUrl];
    return finish(process.execPath, [join(root, "dist/src/cli/main.js"), ...args, ...more], {
      env: { TRADEWIRE_RETRY_TRIES: "1", ...environment },
    });
  }

  /** The answers to a call as `pick` gives them, and its error. */
  async function call(method, request, transport, pick = (answers) => answers) {
    const requests = [request].flat().map((each) => JSON.stringify(each));
    const data = Array.isArray(request) ? requests.flatMap((each) => ["--data", each]) : requests;
    const headers = header === undefined ? [] : ["--header", header];
    const { code, out, err } = await command("call", method, ...data, ...headers, "--transport", transport);
    assert.doesNotMatch(err, /falling back/);
    const lines = out.trim().split("\n").filter(Boolean);
    const answers = lines.map((line) => JSON.parse(line));
    if (code === 0) {
      return { answers: pick(answers) };
    }
    const [, message, name] = /^tradewire: ((?:the node answered (\w+))?.*)$/m.exec(err) ?? [];
    return { answers, error: { code: name, message } };
  }

  return { command, call };
}
