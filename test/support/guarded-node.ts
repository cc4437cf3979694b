import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll } from "@jest/globals";
import {
  type Client,
  type CommandInit,
  type Guard,
  Order_TimeInForce,
  PolicyError,
  type SeedSigner,
  signerFromMnemonic,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import type { Devnode } from "tradewire/devnode";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { openMarket } from "./devnode.js";
import { clientOf, limitOrder, startNode } from "./leases.js";

/** A node that the tests of a file share. */
export interface GuardedNode {
  readonly node: Devnode;
  readonly client: Client;
  /** One unit of size, of the market's decimals. */
  readonly one: bigint;
  /** Returns a signer with a key of its own. */
  newSigner(): Promise<SeedSigner>;
  /** Returns the identifiers of the live orders of a key, by the node's records. */
  liveOrders(signer: SeedSigner): Promise<string[]>;
}

/** Another open market of the node. */
export const otherMarket = "2b67c09c1d3e2dd8bcfb9fac2f7b428fa5b3e191fe84652ef882678bd13434c7";

/** The rules of a market: sizes up to 10, positions up to 12, and any price. */
export const marketRules = { maxSize: "10", maxNotional: "99999999999", maxPosition: "12" };

/** A policy for the open market, with changes of its rules and of the policy. */
export const policyOf = (rules: object = {}, more: object = {}) => ({
  maxOrdersPerMinute: 1000,
  markets: { [openMarket]: { ...marketRules, ...rules } },
  ...more,
});

/** An order that rests until it is cancelled. */
export const order = (size: bigint, more: object = {}) =>
  limitOrder({ size, timeInForce: Order_TimeInForce.GTC, ...more });

/** Starts a node before the tests of a file, and closes it after them. */
export function useGuardedNode(): GuardedNode {
  let started: Pick<GuardedNode, "node" | "client" | "one"> | undefined;
  const running = () => {
    if (started === undefined) {
      throw new Error("the node starts before the tests");
    }
    return started;
  };
  beforeAll(async () => {
    const node = await startNode();
    const client = clientOf(node.grpcUrl);
    started = { node, client, one: (await client.marketUnits(openMarket)).size.parse("1") };
  });
  afterAll(async () => {
    await started?.client.close();
    await started?.node.close();
  });
  let index = 2;
  return {
    get node() {
      return running().node;
    },
    get client() {
      return running().client;
    },
    get one() {
      return running().one;
    },
    newSigner() {
      index += 1;
      return signerFromMnemonic(running().node.mnemonic, { index });
    },
    async liveOrders({ publicKey }) {
      const filter = { partyIds: [publicKey], liveOnly: true };
      const { orders } = await running().client.service(TradingDataService).listOrders({ filter });
      return orders?.edges.flatMap(({ node }) => (node === undefined ? [] : [node.id])) ?? [];
    },
  };
}

/** Why a guard refuses a command; `undefined` if it allows it. */
export async function refusal(guard: Guard, command: CommandInit): Promise<PolicyError | undefined> {
  const error = await guard.check(command).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error !== undefined && !(error instanceof PolicyError)) {
    throw error;
  }
  return error;
}

/** Returns a function that lets a guard sign a command alone, tied to a block; nothing is sent. */
export function signingAlone(
  guard: Guard,
  chainId: string,
): (command: CommandInit, blockHeight: bigint) => Promise<Uint8Array> {
  let nonce = 0n;
  return (command, blockHeight) => {
    nonce += 1n;
    const inputData = create(InputDataSchema, { nonce, blockHeight, command } as MessageInitShape<
      typeof InputDataSchema
    >);
    return guard.sign(Buffer.concat([Buffer.from(`${chainId}\0`), toBinary(InputDataSchema, inputData)]));
  };
}
