import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { JsonObject } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { RequestError } from "../errors/index.js";
import { isJsonObject } from "../json/values.js";
import type { Controls } from "./controls.js";
import { readBody } from "./gateway-body.js";

/** The path below which the gateway takes commands. */
const PATH = "/admin/";

type Command = (controls: Controls, given: JsonObject) => Promise<object> | object | undefined;

/** What each command does. One that returns nothing is answered with an empty object. */
const commands: Readonly<Record<string, Command>> = {
  "make-block": async (controls) => ({ height: String(await controls.makeBlock()) }),
  "set-time": (controls, { time }) => {
    controls.setTime(text(time, "time"));
    return undefined;
  },
  snapshot: (controls) => ({ id: controls.snapshot() }),
  revert: (controls, { id }) => {
    controls.revert(text(id, "id"));
    return undefined;
  },
  reset: (controls) => {
    controls.reset();
    return undefined;
  },
  "fail-next": (controls, { method, with: what, times, afterBytes }) => {
    controls.failNext({
      method: text(method, "method"),
      with: typeof what === "number" ? what : text(what, "with"),
      times: number(times, "times"),
      afterBytes: number(afterBytes, "afterBytes"),
    });
    return undefined;
  },
};

/**
 * Let a gateway take the commands of a local node's controls: `POST /admin/COMMAND`, with a JSON object.
 *
 * A request must say that its body is JSON. So no page in a browser can send one without asking the node first.
 *
 * @param gateway answers all other requests
 * @param controls the controls
 * @returns a request listener for Node's HTTP server
 */
export function withAdmin(gateway: RequestListener, controls: Controls): RequestListener {
  return (request, response) => {
    if (request.url?.startsWith(PATH) === true) {
      void answer(request, response, controls);
    } else {
      gateway(request, response);
    }
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, controls: Controls): Promise<void> {
  const [path = ""] = (request.url ?? "").split("?", 1);
  const name = path.slice(PATH.length);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    reply(response, 404, { message: `there is no ${PATH}${name}; there are ${Object.keys(commands).join(", ")}` });
    return;
  }
  if (request.method !== "POST" || !/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
    reply(response, request.method === "POST" ? 415 : 405, { message: "POST a JSON object as application/json" });
    return;
  }
  try {
    const { body = {} } = await readBody(request);
    if (!isJsonObject(body)) {
      throw new RequestError("the body is no JSON object", { advice: "POST an object, {} where nothing is needed." });
    }
    reply(response, 200, (await command(controls, body)) ?? {});
  } catch (reason) {
    const isTheirs = reason instanceof RequestError || reason instanceof ConnectError;
    reply(response, isTheirs ? 400 : 500, { message: reason instanceof Error ? reason.message : String(reason) });
  }
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
}

function text(value: unknown, name: string): string {
  if (typeof value !== "string") {
    throw new RequestError(`${name} must be a text`, { advice: `Give it as {"${name}": "…"}.` });
  }
  return value;
}

function number(value: unknown, name: string): number | undefined {
  if (value !== undefined && typeof value !== "number") {
    throw new RequestError(`${name} must be a number`, { advice: `Give it as {"${name}": 1}, or leave it out.` });
  }
  return value;
}
