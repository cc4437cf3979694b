import { randomBytes } from "node:crypto";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type BlockTask, type Client, signerFromSeed, solveProofOfWork as solve } from "tradewire";
import {
  InputDataSchema,
  type Transaction,
  TransactionSchema,
  TxVersion,
} from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { openMarket } from "./devnode.js";

/** A seed that does not occur anywhere else, as 64 hex digits. */
export const seed = "5eed0fa11ce5b0b57ead1e55ca11ab1e5eed0fa11ce5b0b57ead1e55ca11ab1e";

/** The signer with that seed. */
export const sender = signerFromSeed(seed);

/** The identifier of a market of the local node that takes orders. */
export const market = openMarket;

/** A command as messages are made of it: without names of enum values. */
export type CommandFields = Extract<
  NonNullable<MessageInitShape<typeof InputDataSchema>["command"]>,
  { readonly case: string }
>;

/** Make a valid command that submits a stop order. The default price is far above the market's, so that it waits. */
export function stopOrder(price = "9000000", marketId = market): CommandFields {
  return {
    case: "stopOrdersSubmission",
    value: {
      risesAbove: {
        orderSubmission: {
          marketId,
          size: 10n,
          side: Side.SELL,
          timeInForce: Order_TimeInForce.IOC,
          type: Order_Type.MARKET,
          reduceOnly: true,
        },
        trigger: { case: "price", value: price },
      },
    },
  };
}

/** A valid command that submits an order, which rests: a party needs one, or a position, to submit stop orders. */
export const restingOrder: CommandFields = {
  case: "orderSubmission",
  value: {
    marketId: market,
    price: "1",
    size: 1n,
    side: Side.BUY,
    timeInForce: Order_TimeInForce.GTC,
    type: Order_Type.LIMIT,
  },
};

/** A node's answer about its last block. */
export const lastBlockAnswer = {
  height: 7n,
  hash: "07".repeat(32),
  chainId: "test-1",
  spamPowHashFunction: "sha3_24_rounds",
  spamPowDifficulty: 1,
  spamPowNumberOfPastBlocks: 10,
  spamPowNumberOfTxPerBlock: 2,
  spamPowIncreasingDifficulty: true,
};

/** Get the last block of a node, as transactions are tied to it. */
export async function lastBlock(client: Pick<Client, "lastBlockHeight">): Promise<BlockTask> {
  const { height, hash, chainId, spamPowDifficulty, spamPowHashFunction } = await client.lastBlockHeight();
  return { height, hash, chainId, difficulty: spamPowDifficulty, hashFunction: spamPowHashFunction };
}

/** The parts of a crafted transaction. They are not checked, so any of them can be wrong. */
export interface Craft {
  readonly block: BlockTask;
  readonly inputData?: MessageInitShape<typeof InputDataSchema>;
  /** The prefix of the input data as it is signed, and as it is submitted; that of the chain by default. */
  readonly signedPrefix?: Uint8Array;
  readonly submittedPrefix?: Uint8Array;
}

/** The prefix of what is signed for a chain: its identifier and a zero byte. */
export function chainPrefix(chainId: string): Uint8Array {
  return Buffer.from(`${chainId}\0`);
}

/** Make a transaction without any checks. */
export async function craft({ block, inputData, signedPrefix, submittedPrefix }: Craft): Promise<Transaction> {
  const prefix = chainPrefix(block.chainId);
  const nonce = BigInt(`0x${randomHex(8)}`) | 1n;
  const bare = toBinary(
    InputDataSchema,
    create(InputDataSchema, { nonce, blockHeight: block.height, command: stopOrder(), ...inputData }),
  );
  const tid = randomHex(32);
  const signature = await sender.sign(Buffer.concat([signedPrefix ?? prefix, bare]));
  const { hash: blockHash, difficulty } = block;
  return create(TransactionSchema, {
    inputData: Buffer.concat([submittedPrefix ?? prefix, bare]),
    signature: { value: Buffer.from(signature).toString("hex"), algo: "vega/ed25519", version: 1 },
    from: { case: "pubKey", value: sender.publicKey },
    version: TxVersion.V3,
    pow: { tid, nonce: (await solve({ blockHash, tid, difficulty })).nonce },
  });
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
