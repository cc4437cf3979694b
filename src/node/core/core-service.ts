import type { MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type CoreService,
  type StatisticsSchema,
  SubmitRawTransactionRequest_Type,
  SubmitTransactionRequest_Type,
} from "../../../gen/vega/api/v1/core_pb.js";
import type { CoreStateService } from "../../../gen/vega/api/v1/corestate_pb.js";
import { AccountTypeSchema, ChainStatus } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import type { Profile } from "../../base/profile.js";
import { unixMs } from "../../base/runtime/index.js";
import { apiError } from "../api-error.js";
import { eventBus } from "../data/event-bus.js";
import { isWanted, NETWORK_PARTY } from "../data/filters.js";
import { isSettled, latestMarketData } from "../data/market-methods.js";
import { networkLimits, VERSION, validators } from "../data/network-methods.js";
import { stakeLinkings } from "../data/party-methods.js";
import type { OpenStreams } from "../data/streams.js";
import type { CommandResult } from "../engine/command-dispatch.js";
import { epochOf, epochTimestamps } from "../world/epochs.js";
import type { World } from "../world/world.js";
import { type CheckRefusal, CODE, type Received } from "./check-transaction.js";
import { type LocalChain, receivedBytes, receivedTransaction } from "./local-chain.js";
import { type Blocks, expectedDifficulty, type SpamBlock, type SpamRules } from "./recent-blocks.js";
import type { SpamPolicies } from "./spam-policies.js";
import { errorText } from "./transaction-result.js";

interface StatisticsOptions {
  readonly chainId: string;
  readonly chain: Pick<LocalChain, "counts">;
  readonly blocks: Pick<Blocks, "last">;
  readonly world: World;
  readonly streams: Pick<OpenStreams, "open">;
  /** The content of the last block. */
  readonly inLastBlock: () => { readonly events: number; readonly orders: number; readonly trades: number };
}

/** Options of {@link coreMethods}. */
export interface CoreOptions extends StatisticsOptions {
  /** Checks and accepts transactions. */
  readonly chain: Pick<LocalChain, "counts" | "check" | "submit" | "nextBlock">;
  readonly blocks: Blocks;
  readonly rules: SpamRules;
  readonly policies: Pick<SpamPolicies, "statistics">;
  readonly streams: OpenStreams;
  /** `specification` (the default) honors `type`; `deployed` ignores it, as deployed nodes do. */
  readonly profile?: Profile | undefined;
}

type CoreMethods = Omit<ServiceImpl<typeof CoreService>, "propagateChainEvent">;

/**
 * Implements the methods that check and submit transactions, describe the chain and its last
 * blocks, and stream events.
 */
export function coreMethods(options: CoreOptions): CoreMethods {
  const { chain, chainId, rules, blocks, policies } = options;
  const statistics = createStatistics(options);
  const acceptTransaction = (received: Received): CheckRefusal | undefined => {
    const submitted = chain.submit(received);
    if (submitted === "in cache") {
      throw apiError(Code.Internal, "tx already exists in cache");
    }
    return submitted;
  };

  return {
    async submitTransaction({ tx, type }) {
      if (tx === undefined) {
        throw apiError(Code.Internal, "proto: Marshal called with nil");
      }
      const received = receivedTransaction(tx);
      const { txHash } = received;
      const refusal = acceptTransaction(received);
      switch (options.profile === "deployed" ? SubmitTransactionRequest_Type.SYNC : type) {
        case SubmitTransactionRequest_Type.UNSPECIFIED:
        case SubmitTransactionRequest_Type.ASYNC:
          return { success: true, txHash }; // An asynchronous submission does not report a rejection.
        case SubmitTransactionRequest_Type.COMMIT:
          if (refusal === undefined) {
            await chain.nextBlock();
          }
      }
      return { txHash, success: refusal === undefined, ...refusal };
    },

    async submitRawTransaction({ tx, type }) {
      if (!RAW_TYPES.includes(type)) {
        throw apiError(Code.InvalidArgument, "Invalid TX Type");
      }
      const received = receivedBytes(tx);
      const { txHash } = received;
      const refusal = acceptTransaction(received);
      if (type === SubmitRawTransactionRequest_Type.SYNC) {
        return { success: true, txHash, code: refusal?.code ?? 0, data: hex(refusal?.data ?? "") };
      }
      if (type === SubmitRawTransactionRequest_Type.ASYNC || refusal !== undefined) {
        return { success: true, txHash };
      }
      const { block, outcomes } = await chain.nextBlock();
      const outcome = outcomes.get(txHash);
      if (outcome === undefined) {
        throw apiError(Code.Internal, "error on broadcastTxCommit: timed out waiting for tx to be included in a block");
      }
      return { success: true, txHash, height: block.height, ...committed(outcome) };
    },

    async checkTransaction({ tx }) {
      return tx === undefined
        ? checked({ code: CODE.decoding, data: "tx (is required)" })
        : checked(chain.check(receivedTransaction(tx)));
    },

    async checkRawTransaction({ tx }) {
      return checked(chain.check(receivedBytes(tx)));
    },

    observeEventBus: eventBus(options, "core"),

    statistics: () => ({ statistics: statistics() }),
    getVegaTime: () => ({ timestamp: blocks.last().time }),

    async lastBlockHeight() {
      const { height, hash } = blocks.last();
      return {
        height,
        hash,
        chainId,
        spamPowHashFunction: rules.hashFunction,
        spamPowDifficulty: rules.difficulty,
        spamPowNumberOfPastBlocks: rules.pastBlocks,
        spamPowNumberOfTxPerBlock: rules.transactionsPerBlock,
        spamPowIncreasingDifficulty: rules.increasing,
      };
    },

    async getSpamStatistics({ partyId }) {
      if (partyId === "") {
        throw apiError(Code.InvalidArgument, "empty or missing party ID");
      }
      const used = blocks.recent().filter((block) => block === blocks.last() || block.usage.has(partyId));
      const blockStates = used.map((block) => blockState(block, partyId, rules));
      const pow = { blockStates, numberOfPastBlocks: BigInt(rules.pastBlocks) };
      return { chainId, statistics: { ...policies.statistics(partyId), pow } };
    },
  };
}

const RAW_TYPES = [
  SubmitRawTransactionRequest_Type.ASYNC,
  SubmitRawTransactionRequest_Type.SYNC,
  SubmitRawTransactionRequest_Type.COMMIT,
];

/** Returns the response to a check. For code 89 the reason is in `data` only (`core/processor/abci.go`). */
function checked(refusal: CheckRefusal | undefined) {
  if (refusal === undefined) {
    return { success: true, gasWanted: 1n };
  }
  return { success: false, ...refusal, info: refusal.code === CODE.spam ? "" : refusal.data };
}

/** Returns the execution result in the response to a raw submission of type COMMIT. */
function committed(outcome: CommandResult): CheckRefusal {
  if (outcome.status === "success") {
    return { code: 0, data: "" };
  }
  const code = outcome.status === "partial" ? CODE.partlyFailed : CODE.failed;
  return { code, data: hex(errorText(outcome)) };
}

/** Encodes a reason in upper-case hex, as raw submissions have it (`setResponseBasisContent` in `core/api/core.go`). */
function hex(text: string): string {
  return Buffer.from(text).toString("hex").toUpperCase();
}

function blockState({ height, hash, usage }: SpamBlock, partyId: string, rules: SpamRules) {
  const used = usage.get(partyId) ?? { seen: 0, zeroBits: 0 };
  const difficulty = expectedDifficulty(rules, used);
  return {
    blockHeight: height,
    blockHash: hash,
    transactionsSeen: BigInt(used.seen),
    ...(difficulty !== undefined && { expectedDifficulty: BigInt(difficulty) }),
    hashFunction: rules.hashFunction,
    difficulty: BigInt(rules.difficulty),
    txPerBlock: BigInt(rules.transactionsPerBlock),
    increasingDifficulty: rules.increasing,
  };
}

/** Nanoseconds. */
const SECOND = 1_000_000_000n;

/** CometBFT version of v0.78.0. */
const CHAIN_VERSION = "0.38.8";

function createStatistics(options: StatisticsOptions): () => MessageInitShape<typeof StatisticsSchema> {
  const { chainId, chain, blocks, world, streams } = options;
  const uptime = rfc3339(now());

  return () => {
    const { height, hash, time } = blocks.last();
    const { waiting, inLastBlock, transactions, bytes, amendments, cancellations } = chain.counts();
    const lastBlock = options.inLastBlock();
    const blockDuration = time - (world.blockAt(height - 1n)?.time ?? time);
    // As the network does (core/processor/stats.go): the count of the last block, divided by its duration in seconds.
    const perSecond = (count: number) => (blockDuration === 0n ? 0n : (BigInt(count) * SECOND) / blockDuration);
    const epoch = epochTimestamps(world, epochOf(height));
    const { orders, trades } = world.totals;
    return {
      status: ChainStatus.CONNECTED,
      chainId,
      appVersion: VERSION,
      blockHeight: height,
      blockHash: hash,
      blockDuration,
      chainVersion: CHAIN_VERSION,
      eventCount: BigInt(lastBlock.events),
      eventsPerSecond: perSecond(lastBlock.events),
      ordersPerSecond: perSecond(lastBlock.orders),
      tradesPerSecond: perSecond(lastBlock.trades),
      averageOrdersPerBlock: world.totals.orders / height,
      averageTxBytes: BigInt(transactions === 0 ? 0 : Math.floor(bytes / transactions)),
      backlogLength: BigInt(waiting),
      txPerBlock: BigInt(inLastBlock),
      genesisTime: rfc3339(world.blockAt(1n)?.time ?? time),
      vegaTime: rfc3339(time),
      currentTime: rfc3339(now()),
      uptime,
      epochSeq: epochOf(height),
      epochStartTime: rfc3339(epoch.startTime),
      epochExpiryTime: rfc3339(epoch.expiryTime),
      totalOrders: orders,
      totalCreateOrder: orders,
      totalAmendOrder: BigInt(amendments),
      totalCancelOrder: BigInt(cancellations),
      totalTrades: trades,
      orderSubscriptions: streams.open("order"),
      tradeSubscriptions: streams.open("trade"),
      accountSubscriptions: streams.open("account"),
      positionsSubscriptions: streams.open("position"),
      marketDataSubscriptions: streams.open("marketData"),
      marketDepthSubscriptions: streams.open("marketDepth"),
      marketDepthUpdatesSubscriptions: streams.open("marketDepthUpdates"),
    };
  };
}

function now(): bigint {
  return BigInt(unixMs()) * 1_000_000n;
}

/** Formats Unix nanoseconds as RFC 3339, without trailing zeros. */
function rfc3339(nanoseconds: bigint): string {
  const seconds = new Date(Number(nanoseconds / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  const fraction = String(nanoseconds % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${seconds}${fraction === "" ? "" : `.${fraction}`}Z`;
}

type StateMethods = Omit<ServiceImpl<typeof CoreStateService>, "listDelegations">;

/** Implements the methods that return the state of the network's engine. They have no pagination. */
export function stateMethods({ world }: { readonly world: World }): StateMethods {
  return {
    async listAccounts({ party, market }) {
      const found = byId(world.accounts.values()).filter(
        ({ owner, marketId }) => isWanted(party, owner) && isWanted(market, marketId),
      );
      return {
        accounts: found.map(({ owner, marketId, balance, asset, type }) => ({
          party: owner,
          market: marketId,
          balance,
          asset,
          type: AccountTypeSchema.value[type]?.name ?? String(type),
        })),
      };
    },

    async listAssets({ asset }) {
      return { assets: byId(world.assets.values()).filter(({ id }) => isWanted(asset, id)) };
    },

    async listMarkets({ market: marketId }) {
      // The network's engine removes settled markets.
      const markets = byId(world.markets.values());
      return { markets: markets.filter((market) => isWanted(marketId, market.id) && !isSettled(market)) };
    },

    async listMarketsData({ market }) {
      return { marketsData: latestMarketData(world, market === "" ? [] : [market]) };
    },

    async listNetworkLimits() {
      return { networkLimits: networkLimits(world) };
    },

    async listNetworkParameters({ networkParameterKey }) {
      const chosenOnes = [...world.parameters].filter(([key]) => isWanted(networkParameterKey, key));
      return {
        networkParameters: chosenOnes.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => ({ key, value })),
      };
    },

    async listParties() {
      // The engine of v0.78 lists no other party.
      return { parties: [{ id: NETWORK_PARTY }] };
    },

    async listPartiesStake({ party }) {
      return {
        partiesStake: [...world.stakes]
          .filter(([id]) => isWanted(party, id))
          .map(([id, stake]) => ({
            ...{ party: id, currentStakeAvailable: String(stake), stakeLinkings: stakeLinkings(world, id) },
          })),
      };
    },

    async listValidators() {
      return {
        validators: validators().map(({ id, pubKey, ethereumAddress, tmPubKey, name }) => ({
          ...{ nodeId: id, vegaPubKey: pubKey, ethereumAddress, tmPubKey, name, vegaPubKeyIndex: 1, added: true },
        })),
      };
    },

    async listProposals({ proposal, proposer }) {
      const all = [...world.records.proposal.latest.values()].map(({ value }) => value);
      return { proposals: all.filter(({ id, partyId }) => isWanted(proposal, id) && isWanted(proposer, partyId)) };
    },

    async listVotes({ proposal, party }) {
      if (proposal === "" && party === "") {
        throw new ConnectError("missing proposal or party filter", Code.Unknown);
      }
      const all = [...world.records.vote.latest.values()].map(({ value }) => value);
      return {
        votes: all.filter(({ proposalId, partyId }) => isWanted(proposal, proposalId) && isWanted(party, partyId)),
      };
    },
  };
}

function byId<T extends { readonly id: string }>(records: Iterable<T>): T[] {
  return [...records].sort((a, b) => (a.id < b.id ? -1 : 1));
}
