import { create } from "@bufbuild/protobuf";
import {
  BeginBlockSchema,
  CoreSnapshotDataSchema,
  EndBlockSchema,
  MarketTickSchema,
  TimeUpdateSchema,
} from "../../gen/vega/events/v1/events_pb.js";
import { Market_State } from "../../gen/vega/markets_pb.js";
import { RequestError } from "../errors/index.js";
import type { Profile } from "../schema/profile.js";
import type { ChainIdPrefix } from "../transaction/transaction.js";
import { activityCommands } from "./activity.js";
import { createBlocks, type SpamRules, spamRules } from "./core/blocks.js";
import {
  type BlockTransaction,
  type ChainState,
  createLocalChain,
  type LocalChain,
  type MadeBlock,
  receivedBytes,
} from "./core/chain.js";
import { createSpamPolicies, type SpamPolicies } from "./core/spam-policies.js";
import { transactionError, transactionResult } from "./core/transaction-result.js";
import { validators } from "./data/network.js";
import { createStreams, type Streams } from "./data/observe.js";
import { createEngine } from "./engine/create-engine.js";
import type { Engine, EngineState, Outcome } from "./engine/engine.js";
import { createHistory, type Genesis, type History, type HistoryState } from "./history/history.js";
import { createMadeUp } from "./made-up/index.js";
import { validatorIds } from "./made-up/network.js";
import { createWorld, type WorldState } from "./world/create-world.js";
import type { Block, Event, Happening } from "./world/event.js";
import type { World } from "./world/world.js";

const MICROSECOND = 1000n;
const SECOND = 1_000_000_000n;

/** The version of the network's software that core snapshots name. */
const CORE_VERSION = "v0.78.0";

/** The states of markets that are told of each block (v0.78.0, `core/execution/future/market.go`, OnTick). */
const TICKING: readonly Market_State[] = [
  Market_State.ACTIVE,
  Market_State.PENDING,
  Market_State.SUSPENDED,
  Market_State.SUSPENDED_VIA_GOVERNANCE,
];

/** What a local network is made of. */
export interface LocalNetworkOptions {
  readonly chainId: string;
  readonly profile: Profile;
  readonly chainIdPrefix: ChainIdPrefix;
  /** The number of segments of the made-up history. */
  readonly segments: number;
  readonly blocksPerSegment: number;
  /** The schema version of each segment, in order; the last holds for all that follow. */
  readonly schemaVersions: readonly number[];
  readonly genesis: Genesis;
  /** How often made-up parties trade in each block. */
  readonly activity: number;
  /** Public keys that are parties from the start, with balances. */
  readonly keys: readonly string[];
  /** Whether these keys alone have balances and governance tokens; by default every party has both when it is first seen. */
  readonly fundedKeys?: readonly string[] | undefined;
  /** What a party begins with, of each asset that it trades for, in units of the asset's last decimal. */
  readonly startingBalance: string;
  /** Told of each transaction that was taken and not carried out, or in part only. */
  readonly onFailure: (failure: TransactionFailure) => void;
}

/** A transaction that was taken into the mempool, and not carried out, or in part only. */
export interface TransactionFailure {
  readonly height: bigint;
  /** 64 hex digits in upper case. */
  readonly txHash: string;
  readonly errors: readonly string[];
}

/** All that a network knows. It is plain data. */
export interface NetworkState {
  readonly lastRowTime: bigint;
  readonly inLastBlock: BlockCounts;
  readonly chain: ChainState;
  readonly engine: EngineState;
  readonly world: WorldState;
  readonly history: HistoryState;
}

/** How much a block brought. */
export interface BlockCounts {
  /** The events of the bus. */
  readonly events: number;
  readonly orders: number;
  readonly trades: number;
}

/** A network of one node: its chain, what its commands do, how things stand, and its history. */
export interface LocalNetwork {
  readonly chain: LocalChain;
  readonly blocks: ReturnType<typeof createBlocks>;
  readonly rules: SpamRules;
  readonly policies: SpamPolicies;
  readonly engine: Engine;
  readonly world: World;
  readonly history: History;
  readonly streams: Streams;
  /** How much the last block brought; nothing for one of the history. */
  inLastBlock(): BlockCounts;
  /** Make a block of what waits, at a time in Unix nanoseconds; at least a millisecond after the last one. */
  makeBlock(time: bigint): MadeBlock;
  /**
   * Make a block again that was made before.
   *
   * @throws {@link RequestError} if a transaction of it is refused now: the network would go another way
   */
  remake(block: MadeBlock): void;
  /** Keep all of it as it is. */
  save(): NetworkState;
  /** Bring back what was kept, of this network or of one with the same options, as often as one likes. */
  restore(state: NetworkState): void;
}

/**
 * Create a network of one node. It does nothing by itself: blocks are made when they are asked for, and are the same
 * where their times and transactions are.
 *
 * @param options the chain, its history, the rules that it follows, and who trades on it
 * @returns the network
 */
export function createLocalNetwork(options: LocalNetworkOptions): LocalNetwork {
  const { chainId, profile, segments, blocksPerSegment, activity, keys, startingBalance } = options;
  const madeUp = createMadeUp({ blocks: segments * blocksPerSegment, blocksPerSegment, keys, startingBalance });
  const { start } = madeUp;
  const state = createWorld(madeUp);
  const history = createHistory({ ...options, madeUp });
  const rules = spamRules(start.parameters);
  const blocks = createBlocks(lastBlocks(madeUp, rules.pastBlocks), rules.pastBlocks);
  const streams = createStreams();
  let happenings: Happening[] = [];
  /** The last block's time, and a microsecond for each of its events: rows of different events have different times. */
  let lastRowTime = blocks.last().time;
  let inLastBlock: BlockCounts = { events: 0, orders: 0, trades: 0 };
  let isRemaking = false;
  let current: { readonly block: Block; readonly txHash: string } | undefined;

  const emit = (event: Event) => {
    if (current !== undefined) {
      const happening = { ...current, sequence: happenings.length + 1, event };
      happenings.push(happening);
      state.apply(happening);
    }
  };
  // Not all of `start`: what is many in it is made when it is read.
  const { parameters, stakes, markets, assets, marketData, lastPrices, accounts, positions, orders } = start;
  const engine = createEngine(
    {
      ...{ parameters, stakes, markets, assets, marketData, lastPrices, accounts, positions, orders },
      stopOrders: start.pendingStopOrders,
      startingBalance,
      validators: [...validators().map(({ id }) => id), ...validatorIds],
      keepsStopOrderIds: profile === "specification",
      maxStopOrders: Number(start.parameters.get("spam.protection.max.stopOrdersPerMarket")),
    },
    emit,
  );

  const failed = (failure: TransactionFailure) => {
    if (!isRemaking) {
      options.onFailure(failure);
    }
  };

  function execute(block: Block, transactions: readonly BlockTransaction[]): readonly Outcome[] {
    happenings = [];
    current = { block, txHash: block.hash };
    state.begin(block);
    const ordersBefore = state.world.totals.orders;
    emit({
      case: "beginBlock",
      value: create(BeginBlockSchema, { height: block.height, timestamp: block.time, hash: block.hash }),
    });
    emit({ case: "timeUpdate", value: create(TimeUpdateSchema, { timestamp: block.time }) });
    engine.beginBlock(block);
    for (const { id, state: marketState } of state.world.markets.values()) {
      if (TICKING.includes(marketState)) {
        emit({ case: "marketTick", value: create(MarketTickSchema, { id, time: block.time / SECOND }) });
      }
    }
    const outcomes = transactions.map((transaction) => {
      current = { block, txHash: transaction.txHash.toLowerCase() };
      const outcome = engine.execute(transaction);
      emit({ case: "transactionResult", value: transactionResult(transaction, outcome) });
      if (outcome.status !== "success") {
        emit({ case: "txErrEvent", value: transactionError(transaction, outcome) });
        const errors = outcome.errors.map(({ key, error }) => (key === "" ? error : `${key}: ${error}`));
        failed({ height: block.height, txHash: transaction.txHash, errors });
      }
      return outcome;
    });
    current = { block, txHash: block.hash };
    for (const command of activityCommands(state.world, activity)) {
      engine.execute(command);
    }
    engine.endBlock();
    if (block.height % BigInt(blocksPerSegment) === 0n) {
      const value = create(CoreSnapshotDataSchema, {
        blockHeight: block.height,
        blockHash: block.hash,
        coreVersion: CORE_VERSION,
      });
      emit({ case: "coreSnapshotEvent", value });
    }
    emit({ case: "endBlock", value: create(EndBlockSchema, { height: block.height }) });
    current = undefined;
    lastRowTime = block.time + BigInt(happenings.length) * MICROSECOND;
    const countOf = (kind: Event["case"]) => happenings.filter(({ event }) => event.case === kind).length;
    const orders = Number(state.world.totals.orders - ordersBefore);
    inLastBlock = { events: happenings.length - countOf("position"), orders, trades: countOf("trade") };
    history.record(block, happenings);
    streams.publish(block, happenings);
    return outcomes;
  }

  const isFunded = (party: string) => options.fundedKeys === undefined || keys.includes(party);
  const stakeOf = (party: string) => start.stakes.get(party) ?? 0n;
  const policies = createSpamPolicies(blocks.last().height, { world: state.world, stakeOf });
  const chain = createLocalChain({
    chainId,
    chainIdPrefix: options.chainIdPrefix,
    rules,
    blocks,
    policies,
    world: state.world,
    isFunded,
    execute,
    dropped(txHash, height, reason) {
      failed({ height, txHash, errors: [reason] });
    },
  });

  return {
    chain,
    blocks,
    rules,
    policies,
    engine,
    world: state.world,
    history,
    streams,
    inLastBlock: () => inLastBlock,

    makeBlock(time) {
      const earliest = lastRowTime + MICROSECOND;
      return chain.makeBlock(time < earliest ? earliest : time);
    },

    remake({ height, time, transactions }) {
      isRemaking = true;
      try {
        for (const bytes of transactions) {
          if (chain.submit(receivedBytes(bytes)) !== undefined) {
            throw new RequestError(`the node refuses a transaction of the kept block ${height}`, {
              advice: "The blocks were changed, or kept by another version of the node; give another folder.",
            });
          }
        }
        chain.makeBlock(time);
      } finally {
        isRemaking = false;
      }
    },

    save: () => ({
      lastRowTime,
      inLastBlock,
      chain: chain.save(),
      engine: engine.save(),
      world: state.save(),
      history: history.save(),
    }),

    restore(kept) {
      ({ lastRowTime, inLastBlock } = kept);
      chain.restore(kept.chain);
      engine.restore(kept.engine);
      state.restore(kept.world);
      history.restore(kept.history);
    },
  };
}

/** The last blocks of the history, oldest first, as many as transactions may be tied to. */
function lastBlocks(
  { lastHeight, blockAt }: { readonly lastHeight: bigint; readonly blockAt: (height: bigint) => Block },
  pastBlocks: number,
): [Block, ...Block[]] {
  const count = Math.min(Number(lastHeight), pastBlocks);
  const [first, ...others] = Array.from({ length: count }, (_, index) =>
    blockAt(lastHeight - BigInt(count - 1 - index)),
  );
  return [first ?? blockAt(lastHeight), ...others];
}
