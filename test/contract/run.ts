import { mkdtemp, readdir, rm } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, TradewireError } from "tradewire";
import { startGrpcServer } from "../support/grpc-server.js";
import { closedUrl } from "../support/node.js";
import { startRawHttp } from "../support/raw-http.js";
import { sample } from "../support/tier.js";
import { type Asked, type NodeAnswer, succeed } from "./answers.js";
import type { Case, Failure, Surroundings } from "./case.js";
import { type Operation, operations, streams } from "./operations.js";
import type { ContractTransport, NodeEndpoints } from "./transports.js";

/** What an operation came to, over one transport. */
export interface Outcome {
  /** The result as it is to be, or what was found in its place. */
  readonly outcome: unknown;
  /** The second line of a failure. */
  readonly advice?: string | undefined;
  readonly method?: string | undefined;
  /** The waits before further tries. */
  readonly delays: readonly number[];
  /** What was left in the folder that the operation was given. */
  readonly left: readonly string[];
}

/** Whether a case is possible over a transport. */
export function isPossible({ over }: Case, { ways }: ContractTransport): boolean {
  return over === undefined || ways.every((way) => over.ways.includes(way));
}

/** Run a case over a transport: what its operations came to, by their names. */
export async function runCase(one: Case, transport: ContractTransport): Promise<Record<string, Outcome>> {
  const surroundings: Surroundings = (await one.surround?.()) ?? {};
  await using node = await startNode(one.answer ?? succeed(), surroundings);
  const found: Record<string, Outcome> = {};
  await Promise.all(
    concerned(one).map(async (operation) => {
      found[operation.name] = await take(one, transport, operation, node);
    }),
  );
  try {
    surroundings.check?.(node.requests);
  } catch (reason) {
    found["afterwards"] = { outcome: reason, delays: [], left: [] };
  }
  await surroundings[Symbol.asyncDispose]?.();
  return found;
}

async function take(
  one: Case,
  transport: ContractTransport,
  operation: Operation,
  node: { endpoints(operation: Operation): NodeEndpoints },
): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-contract-"));
  const delays: number[] = [];
  const config = {
    retry: { tries: 1 },
    ...one.config,
    timeouts: { connectMs: 60_000, ...one.config?.timeouts }, // On a loaded machine, many handshakes at once take long.
    ...transport.config(node.endpoints(operation)),
  };
  const abort = new AbortController();
  if (one.abort === "before") {
    abort.abort();
  }
  const signal = typeof one.abort === "object" ? AbortSignal.timeout(one.abort.afterMs) : abort.signal;
  const onPart = () => {
    if (one.abort === "at the first part") {
      abort.abort();
    }
  };
  await using client = createClient(config, { hooks: { onRetry: ({ delayMs }) => delays.push(delayMs) } });
  const outcome = await operation
    .take(client, { ...(one.abort !== undefined && { signal }), folder, onPart })
    .then((result) => ({ outcome: result }), failed);
  const left = await readdir(folder);
  await rm(folder, { recursive: true });
  return { ...outcome, delays, left };
}

function failed(reason: unknown): { outcome: unknown; advice?: string; method?: string | undefined } {
  if (!(reason instanceof TradewireError)) {
    return { outcome: reason };
  }
  const { name, code, advice, details, method } = reason;
  // A URL and a page that is quoted may differ. gRPC sends nothing before the server has, and HTTP/1.1 sends the request.
  const summary = reason.summary
    .replace(/ \((https?:|previously over )[^)]*\)$/, "")
    .replace(/(?<=HTTP \d{3}\b.*?): ".*$/s, "")
    .replace(/; it starts with "<.*$/s, "")
    .replace(/(?<=deadline of the call passed) before there was a connection$/, "");
  return { outcome: { name, code, summary, details } satisfies Failure, advice: sameAdvice(advice), method };
}

/** A message is larger in JSON, and each transport has a limit of its own. What was sent differs where a server says nothing. */
function sameAdvice(advice: string): string {
  return advice
    .replace(/^(?:Nothing was sent\. )?Allow more time .*$/, "Allow more time")
    .replace(
      /^The message .*(exceeds the limit of \d+ bytes)\. If this size is expected, raise limits\.max(?:Message|Json)Bytes/,
      "The message $1",
    );
}

/** Start a node that gives one answer, over gRPC and over the gateway. */
async function startNode(answer: NodeAnswer, { tls, endpoints }: Surroundings) {
  const [grpc, rest] = await Promise.all([startGrpcServer(tls), startRawHttp(tls)]);
  const nowhere = new URL(await closedUrl()).host;
  const requests: IncomingHttpHeaders[] = [];
  const attempts = new Map<string, number>();
  const asked = (way: string, headers: IncomingHttpHeaders): Asked => {
    requests.push(headers);
    const name = headers["x-operation"];
    const operation = operations.find((known) => known.name === name);
    if (operation === undefined) {
      throw new Error(`a request for ${name}`);
    }
    const attempt = (attempts.get(`${way} ${name}`) ?? 0) + 1;
    attempts.set(`${way} ${name}`, attempt);
    const json = headers["content-type"] === "application/grpc+json";
    return { operation, attempt, json, envelopes: headers.accept === "application/x-ndjson" };
  };
  grpc.answer = ({ headers }) => answer.grpc(asked("grpc", headers));
  rest.answer = ({ headers }) => answer.rest(asked("rest", Object.fromEntries(headers)));
  return {
    requests,
    endpoints({ name }: Operation): NodeEndpoints {
      const headers = { "x-operation": name };
      const own = { grpc: { url: grpc.url, headers }, rest: { url: rest.url, headers }, nowhere };
      return endpoints?.(own) ?? own;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([grpc.close(), rest.close()]);
    },
  };
}

/** What a case has to come to over a transport; advice is that of another transport, for all have to say the same. */
export function expectedOutcomes(
  one: Case,
  transport: ContractTransport,
  other: Readonly<Record<string, Outcome>>,
): Record<string, Outcome> {
  const outcomes = concerned(one).map((operation): [string, Outcome] => {
    const { method, name } = operation;
    const expected = typeof one.expected === "function" ? one.expected(operation) : one.expected;
    const common = { delays: one.delays ?? [], left: [] };
    if (expected === "success") {
      return [name, { ...common, outcome: operation.result(transport.ways[0] === "body") }];
    }
    const { advice } = other[name] ?? {};
    return [name, { ...common, outcome: expected, advice, method: `${method.parent.typeName}/${method.name}` }];
  });
  return Object.fromEntries(outcomes);
}

/** The operations of a case. In the quick tier they are one of those whose answer streams and one of the others, by turns. */
function concerned({ name, of = () => true }: Case): Operation[] {
  const turn = Buffer.from(name).reduce((sum, byte) => sum + byte, 0);
  const those = operations.filter(of);
  const kinds = [those.filter(streams), those.filter((one) => !streams(one))];
  return kinds.flatMap((kind) => sample(kind, kind.length, turn));
}
