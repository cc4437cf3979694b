import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { ConnectError } from "@connectrpc/connect";
import * as v from "valibot";
import { wordingOf } from "../base/errors/error-text.js";
import { RequestError, TradewireError } from "../base/errors/index.js";
import { optionsSchema, parseInput } from "../base/input/schemas.js";
import { isJsonObject } from "../wire/json/json-values.js";
import { type Controls, snapshotSchema } from "./controls.js";
import { failureSchema } from "./failure-injection.js";
import { readBody } from "./gateway.js";

/** The path prefix of commands. */
const PATH = "/admin/";

type Command = (controls: Controls, body: unknown, name: string) => unknown;

/** Declares a command whose body has a schema. The response to a command without a result is an empty object. */
const command =
  <S extends v.GenericSchema>(schema: S, run: (controls: Controls, body: v.InferOutput<S>) => unknown): Command =>
  (controls, body, name) =>
    run(controls, parseInput(schema, body, name));

const OBJECT = "must be a JSON object; use {} for a command without arguments";
const nothing = optionsSchema({}, OBJECT);
const newTime = optionsSchema({ time: v.string("must be a time in ISO 8601, such as 2024-01-31T12:30:00Z") }, OBJECT);

interface AdminOptions {
  readonly controls: Controls;
  readonly isOwnHost: (host: string | undefined) => boolean;
}

/** The commands by name. */
const commands: Readonly<Record<string, Command>> = {
  "make-block": command(nothing, async (controls) => ({ height: String(await controls.makeBlock()) })),
  "set-time": command(newTime, (controls, { time }) => controls.setTime(time)),
  snapshot: command(nothing, (controls) => ({ id: controls.snapshot() })),
  revert: command(snapshotSchema, (controls, { id }) => controls.revert(id)),
  reset: command(nothing, (controls) => controls.reset()),
  "fail-next": command(failureSchema, (controls, failure) => controls.failNext(failure)),
};

/**
 * Adds the commands of a local node's controls to a gateway: `POST /admin/COMMAND` with a JSON object.
 *
 * A request must declare its body as JSON, and name this node in its `Host` header. A web page can send neither without a
 * preflight request, and the node allows no origin below this path. A page that uses DNS rebinding sends its own host name.
 */
export function withAdmin(gateway: RequestListener, { controls, isOwnHost }: AdminOptions): RequestListener {
  return (request, response) => {
    if (request.url?.startsWith(PATH) === true) {
      if (isOwnHost(request.headers.host)) {
        void handleCommand(request, response, controls);
      } else {
        reply(response, 421, { message: "this hostname is not accepted; add it with --admin-name, or in adminNames" });
      }
    } else {
      gateway(request, response);
    }
  };
}

async function handleCommand(request: IncomingMessage, response: ServerResponse, controls: Controls): Promise<void> {
  const [path = "", query = ""] = (request.url ?? "").split("?", 2);
  const name = path.slice(PATH.length);
  const run = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (run === undefined) {
    reply(response, 404, {
      message: `unknown command ${PATH}${name}; valid commands: ${Object.keys(commands).join(", ")}`,
    });
    return;
  }
  if (request.method !== "POST" || !/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
    reply(response, request.method === "POST" ? 415 : 405, {
      message: "the request must be a JSON object, sent as application/json",
    });
    return;
  }
  try {
    const { body = {} } = await readBody(request);
    if (!isJsonObject(body)) {
      throw new RequestError("the body must be a JSON object", { advice: "Use {} for a command without arguments." });
    }
    reply(response, 200, (await run(controls, body, `${PATH}${name}`)) ?? {});
  } catch (reason) {
    const isClientError = reason instanceof RequestError || reason instanceof ConnectError;
    const option = reason instanceof RequestError ? reason.option : undefined;
    reply(response, isClientError ? 400 : 500, { message: errorText(reason, new URLSearchParams(query)), option });
  }
}

/**
 * Returns an error's summary and advice, without the link to the documentation, which HTTP clients may not have. The query
 * has the client's names of options, such as `?times=--times`.
 */
function errorText(reason: unknown, names: URLSearchParams): string {
  if (reason instanceof TradewireError) {
    const { summary, advice } = wordingOf(reason.texts, (option, words = option) => names.get(option) ?? words);
    return advice === "" ? summary : `${summary}\n${advice}`;
  }
  return reason instanceof Error ? reason.message : String(reason);
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
}
