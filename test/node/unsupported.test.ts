import { readFileSync } from "node:fs";
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  fromBinary,
  fromJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Client, createClient, TransactionError } from "tradewire";
import { CoreService, CoreStateService, TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type InputData, InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { ProposalTermsSchema } from "tradewire/gen/vega/governance_pb.js";
import { craft, lastBlock, sender } from "../support/transactions.js";

/** The names that docs/devnode.md lists as unsupported, by the first column of its table. */
const [, section = ""] = readFileSync("docs/devnode.md", "utf8").split("\n## Unsupported commands and methods\n");
const listed = new Map(
  section
    .split("\n## ", 1)
    .flatMap((text) => text.split("\n"))
    .filter((line) => line.startsWith("| ") && line.includes("`"))
    .map((line) => {
      const [, kind = "", names = ""] = line.split("|");
      return [kind.replaceAll("`", "").trim(), [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name)];
    }),
);

let node: Devnode;
let client: Client;
let transport: Transport;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0, profile: "deployed" });
  client = createClient({ profile: "deployed", transport: "grpc", grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
  transport = createGrpcTransport({ baseUrl: node.grpcUrl });
});
afterAll(async () => {
  await client.close();
  await node.close();
});

const fieldsOf = ({ oneofs }: DescMessage) => oneofs.flatMap(({ fields }) => fields).map(({ localName }) => localName);

/** A well-formed command of each kind, and a proposal of each change. */
function wellFormed(): readonly InputData["command"][] {
  const { cases }: { cases: { inputData: string; error: string }[] } = JSON.parse(
    readFileSync("test/network/recorded/command-checks.json", "utf8"),
  );
  const checked = cases
    .filter(({ error }) => error === "")
    .map(({ inputData }) => fromBinary(InputDataSchema, Buffer.from(inputData, "base64")).command);
  // The form of all other commands is not checked.
  const others = fieldsOf(InputDataSchema).filter((kind) => !checked.some((command) => command.case === kind));
  const proposals = fieldsOf(ProposalTermsSchema).map((change) => ({
    proposalSubmission: { terms: { [change]: {} } },
  }));
  const made = [...others.map((kind) => ({ [kind]: {} })), ...proposals];
  return [...checked, ...made.map((json) => fromJson(InputDataSchema, json).command)];
}

test("the listed commands are refused with code 80 and their name, and no others", async () => {
  const block = { ...(await lastBlock(client)), difficulty: 1 }; // The refusal precedes the check of the proof of work.
  const refused = new Set<string>();
  for (const command of wellFormed()) {
    const tx = await craft({ block, inputData: { command }, submittedPrefix: new Uint8Array() });
    const { success, code, data } = await client.checkTransaction(tx);
    if (code === 80) {
      const [, name = ""] = /^the local node does not execute (\S+)$/.exec(data) ?? [];
      refused.add(name);
      expect([success, name.split(".")[0]]).toEqual([false, command.case]);
      await expect(client.submitTransaction({ tx, type: 2 })).rejects.toMatchObject({ result: { code, data } });
    }
  }
  expect([...refused].toSorted()).toEqual(listed.get("commands"));
});

test("a command that is refused is an error of the client, and nothing waits for a block", async () => {
  const command = { case: "cancelAmm", value: { marketId: "ab".repeat(32), method: 1 } } as const;
  const error: unknown = await client.sendCommand(command, { signer: sender }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TransactionError);
  expect(error).toMatchObject({
    mayHaveBeenTaken: false,
    result: { code: 80, data: "the local node does not execute cancelAmm" },
  });
  const { statistics } = await client.service(CoreService).statistics({});
  expect(statistics?.backlogLength).toBe(0n);
});

const services = [TradingDataService, CoreService, CoreStateService] as const;

test.each(services.map((service) => [service.name, service] as const))(
  "the listed methods of %s answer UNIMPLEMENTED, and no others",
  async (name, service) => {
    const unimplemented = [];
    for (const method of service.methods) {
      if ((await codeOf(method)) === Code.Unimplemented) {
        unimplemented.push(method.name);
      }
    }
    expect(unimplemented.toSorted()).toEqual(listed.get(name));
  },
);

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isStreaming(method: DescMethod): method is DescMethodStreaming {
  return method.methodKind !== "unary";
}

/** Returns the code of a call with an empty request; `undefined` for an answer, and for a stream that stays open. */
async function codeOf(method: DescMethod): Promise<Code | undefined> {
  const abort = new AbortController();
  const request = create(method.input);
  async function call(): Promise<undefined> {
    if (isUnary(method)) {
      await transport.unary(method, abort.signal, undefined, undefined, request);
      return;
    }
    async function* requests() {
      yield request;
    }
    if (!isStreaming(method)) {
      throw new Error(`${method.name} is neither unary nor streaming`);
    }
    const { message } = await transport.stream(method, abort.signal, undefined, undefined, requests());
    for await (const _ of message) {
      return;
    }
  }
  const code = call().catch((reason: unknown) => ConnectError.from(reason).code);
  // The connection carries the answers in order: a stream that has failed says so before the second answer.
  const answered = () => transport.unary(CoreService.method.lastBlockHeight, undefined, undefined, undefined, {});
  const open = isUnary(method) ? code : answered().then(answered);
  const first = await Promise.race([code, open.then(() => undefined)]);
  abort.abort();
  return first;
}

test("over REST, they answer 501 in the same words", async () => {
  const response = await fetch(`${node.restUrl}/api/v2/rewards/summaries`);
  expect(response.status).toBe(501);
  expect(await response.json()).toMatchObject({ code: Code.Unimplemented });
});
