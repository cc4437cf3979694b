import { Code } from "@connectrpc/connect";
import { type Command, InvalidArgumentError } from "commander";
import { DEFAULT_REST_PORT } from "../../config/load.js";
import { ConnectionError, ProtocolError, RequestError } from "../../errors/index.js";
import { timeoutSignal } from "../../runtime/index.js";
import { type CommandContext, json } from "../output.js";
import { wholeNumber } from "../whole-number.js";

/** The longest time for a command, in milliseconds. */
const TIMEOUT_MS = 60_000;

interface ControlOptions {
  readonly url: string;
}

/**
 * Add the commands that control a local node which runs with `--admin`.
 *
 * @param devnode the command `devnode`, to which they are added
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addDevnodeControls(devnode: Command, { out, signal }: CommandContext): void {
  const add = (usage: string, description: string) =>
    devnode
      .command(usage)
      .allowExcessArguments(false)
      .description(description)
      .option("--url <url>", "gateway of the node", gatewayUrl, `http://127.0.0.1:${DEFAULT_REST_PORT}`);
  const send = async ({ url }: ControlOptions, command: string, body: object) => {
    out.write(json(await post(url, command, body, signal)));
  };

  add("make-block", "Make a block of all waiting transactions at once.").action((options: ControlOptions) =>
    send(options, "make-block", {}),
  );
  add("set-time <time>", "Set the clock of the blocks: ISO 8601, later than the last block.").action(
    (time: string, options: ControlOptions) => send(options, "set-time", { time }),
  );
  add("snapshot", "Keep all that the node knows, and print the snapshot's name.").action((options: ControlOptions) =>
    send(options, "snapshot", {}),
  );
  add("revert <id>", "Bring back what a snapshot kept.").action((id: string, options: ControlOptions) =>
    send(options, "revert", { id }),
  );
  add("reset", "Bring back what the node began with.").action((options: ControlOptions) => send(options, "reset", {}));
  add(
    "fail-next <method> <how>",
    "Make the next calls of a method fail: with a code such as UNAVAILABLE, cut, stall or error-after-archive.",
  )
    .option("--times <count>", "how many calls", wholeNumber)
    .option("--after-bytes <bytes>", "how much of the answer comes before", wholeNumber)
    .action((method: string, how: string, options: ControlOptions & { times?: number; afterBytes?: number }) => {
      const { times, afterBytes } = options;
      return send(options, "fail-next", { method, with: how, times, afterBytes });
    });
}

/** The URL of a gateway, as the command line gives it. */
function gatewayUrl(text: string): string {
  if (!/^https?:/.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError(`Give an http: URL, such as http://127.0.0.1:${DEFAULT_REST_PORT}.`);
  }
  return text;
}

async function post(url: string, command: string, body: object, signal: AbortSignal): Promise<unknown> {
  const target = new URL(`/admin/${command}`, url);
  const response = await fetch(target, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, timeoutSignal(TIMEOUT_MS)]),
  }).catch((cause: unknown) => {
    throw new ConnectionError(`no node answers at ${target.origin}`, {
      code: Code.Unavailable,
      advice: "Start one with tradewire devnode --admin, or give its gateway with --url.",
      cause,
      connected: false,
    });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  const isObject = typeof answer === "object" && answer !== null;
  if (response.ok && isObject) {
    return answer;
  }
  if (response.status === 404) {
    throw new RequestError(`the node at ${target.origin} takes no commands`, {
      advice: "Start it with --admin, or give the gateway of one that runs so with --url.",
    });
  }
  if (response.status === 400 && isObject && "message" in answer) {
    // As in the errors of this library, the first line says what is wrong, and the second what to do.
    const [summary = "", advice = "Correct the command."] = String(answer.message).split("\n");
    throw new RequestError(summary, { advice });
  }
  throw new ProtocolError(`${target.origin} answered ${response.status}, not as a local node does`, {
    code: Code.Internal,
    advice: "Give the gateway of a node that runs with --admin with --url: something else may have answered.",
  });
}
