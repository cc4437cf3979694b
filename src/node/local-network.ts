import { create } from "@bufbuild/protobuf";
import {
  BeginBlockSchema,
  CoreSnapshotDataSchema,
  EndBlockSchema,
  MarketTickSchema,
  TimeUpdateSchema,
} from "../../gen/vega/events/v1/events_pb.js";
import { Market_State } from "../../gen/vega/markets_pb.js";
import { RequestError } from "../base/errors/index.js";
import type { Profile } from "../base/profile.js";
import { type StopTimer, startTimer } from "../base/runtime/index.js";
import type { ChainIdPrefix } from "../trade/transaction/signature.js";
import { activityCommands } from "./activity.js";
import {
  type BlockTransaction,
  type ChainState,
  createLocalChain,
  type LocalChain,
  type MadeBlock,
  receivedBytes,
} from "./core/local-chain.js";
import { createBlocks, type SpamRules, spamRules } from "./core/recent-blocks.js";
import { createSpamPolicies, type SpamPolicies } from "./core/spam-policies.js";
import { transactionError, transactionResult } from "./core/transaction-result.js";
import { createStreams, type OpenStreams } from "./data/streams.js";
import type { CommandResult } from "./engine/command-dispatch.js";
import type { Engine, EngineState } from "./engine/execution-engine.js";
import { createEngine } from "./engine/execution-engine.js";
import { generateHistory } from "./generated-history/generated-history.js";
import { createHistory, type Genesis, type History, type HistoryState } from "./history/history.js";
import type { Block, BlockEvent, Event } from "./world/block-event.js";
import { createWorld, type World, type WorldState, type WorldStore } from "./world/world.js";

const MICROSECOND = 1000n;
const SECOND = 1_000_000_000n;

/** The version of the network's software that core snapshots name. */
const CORE_VERSION = "v0.78.0";

/** The states of markets that emit an event in each block (v0.78.0, `core/execution/future/market.go`, OnTick). */
const TICKING: readonly Market_State[] = [Market_State.ACTIVE, Market_State.PENDING, Market_State.SUSPENDED];

export interface LocalNetworkOptions {
  readonly chainId: string;
  readonly profile: Profile;
  readonly chainIdPrefix: ChainIdPrefix;
  /** The number of segments of the generated history. */
  readonly segments: number;
  readonly blocksPerSegment: number;
  /** The schema version of each segment, in order; the last applies to all later segments. */
  readonly schemaVersions: readonly number[];
  readonly genesis: Genesis;
  /** The number of generated trades in each block. */
  readonly activity: number;
  /** The public keys that are parties with balances from the start. */
  readonly keys: readonly string[];
  /** If set, only these keys have balances and governance tokens; by default every party receives both when it is first seen. */
  readonly fundedKeys?: readonly string[] | undefined;
  /** The initial balance of a party for each asset that it trades, in the asset's smallest unit. */
  readonly startingBalance: string;
  /** Milliseconds from the events of a block until {@link LocalNetwork.committed} has it; with 0, it has it at once. */
  readonly commitDelayMs: number;
  /** Called for each transaction that was accepted, but failed completely or in part. */
  readonly onFailure: (failure: TransactionFailure) => void;
}

/** A transaction that was accepted into the mempool, but failed completely or in part. */
export interface TransactionFailure {
  readonly height: bigint;
  /** 64 hex digits in upper case. */
  readonly txHash: string;
  readonly errors: readonly string[];
}

interface LastBlock {
  /** The block's time, plus a microsecond for each of its events: rows of different events have different times. */
  readonly lastRowTime: bigint;
  readonly inLastBlock: BlockCounts;
}

/** The entire state of a network, as plain data. */
export interface NetworkState extends LastBlock {
  readonly chain: ChainState;
  readonly engine: EngineState;
  readonly world: WorldState;
  readonly history: HistoryState;
}

/** The number of events, orders and trades of a block. */
interface BlockCounts {
  /** The events of the event bus. */
  readonly events: number;
  readonly orders: number;
  readonly trades: number;
}

/** A network with a single node: its chain, the engine that executes commands, the current state, and the history. */
export interface LocalNetwork {
  readonly chain: LocalChain;
  readonly blocks: ReturnType<typeof createBlocks>;
  readonly rules: SpamRules;
  readonly policies: SpamPolicies;
  readonly engine: Engine;
  readonly world: World;
  /** The state that is committed. It follows {@link LocalNetwork.world} after a delay. */
  readonly committed: World;
  /** Returns the oldest block that is not committed, or `undefined` if all are. */
  uncommitted(): Block | undefined;
  readonly history: History;
  readonly streams: OpenStreams;
  /** Returns the counts of the last block; zeros for a block of the generated history. */
  inLastBlock(): BlockCounts;
  /** Makes a block of the waiting transactions. A time, in Unix nanoseconds, that is too early is moved after the last block. */
  makeBlock(time: bigint): MadeBlock;
  /**
   * Executes a stored block again.
   *
   * @throws {@link RequestError} if a transaction of the block is rejected, since the network would diverge
   */
  replay(block: MadeBlock): void;
  /** Returns the current state. */
  save(): NetworkState;
  /** Restores a state of this network, or of one with the same options, any number of times. */
  restore(state: NetworkState): void;
  /** Commits no further blocks. */
  close(): void;
}

/**
 * Creates a network with a single node. It does nothing by itself: blocks are made only on request, and blocks with the same
 * times and transactions are always the same.
 */
export function createLocalNetwork(options: LocalNetworkOptions): LocalNetwork {
  const { chainId, chainIdPrefix, profile, segments, blocksPerSegment, keys, startingBalance } = options;
  const generated = generateHistory({ blocks: segments * blocksPerSegment, blocksPerSegment, keys, startingBalance });
  const { finalState: start } = generated;
  const state = createWorld(generated);
  const { world } = state;
  const history = createHistory({ ...options, generated });
  const rules = spamRules(start.parameters);
  const blocks = createBlocks(lastBlocks(generated, rules.pastBlocks), rules.pastBlocks);
  const streams = createStreams();
  const commits = createCommits(
    state,
    () => createWorld(generated),
    options.commitDelayMs,
    (block, events) => streams.publish(block, events, "commit"),
  );
  const recorder = createEventRecorder(state.apply);
  // Not all of `start`: its larger parts are generated only when they are read.
  const { parameters, stakes, markets, assets, marketData, lastPrices, accounts, positions, orders } = start;
  const engine = createEngine(
    {
      ...{ parameters, stakes, markets, assets, marketData, lastPrices, accounts, positions, orders },
      stopOrders: start.pendingStopOrders,
      startingBalance,
      keepsStopOrderIds: profile === "specification",
      maxStopOrders: Number(start.parameters.get("spam.protection.max.stopOrdersPerMarket")),
    },
    recorder.emit,
  );
  let isReplaying = false;
  let last: LastBlock = { lastRowTime: blocks.last().time, inLastBlock: { events: 0, orders: 0, trades: 0 } };

  const onFailure = (failure: TransactionFailure) => {
    if (!isReplaying) {
      options.onFailure(failure);
    }
  };

  function execute(block: Block, transactions: readonly BlockTransaction[]): readonly CommandResult[] {
    recorder.start(block);
    state.begin(block);
    const ordersBefore = world.totals.orders;
    const outcomes = executeBlock({ engine, world, recorder, options, onFailure }, block, transactions);
    const events = recorder.end();
    last = {
      lastRowTime: block.time + BigInt(events.length) * MICROSECOND,
      inLastBlock: blockCounts(events, Number(world.totals.orders - ordersBefore)),
    };
    history.record(block, events);
    streams.publish(block, events, "event");
    commits.add(block, events, isReplaying);
    return outcomes;
  }

  const policies = createSpamPolicies(blocks.last().height, {
    world,
    stakeOf: (party) => start.stakes.get(party) ?? 0n,
  });
  const chain = createLocalChain({
    ...{ chainId, chainIdPrefix, rules, blocks, policies, world, execute },
    isFunded: (party) => options.fundedKeys === undefined || keys.includes(party),
    dropped(txHash, height, reason) {
      onFailure({ height, txHash, errors: [reason] });
    },
  });

  return {
    ...{ chain, blocks, rules, policies, engine, world, history, streams },
    committed: commits.world,
    uncommitted: commits.next,
    close: commits.stop,
    inLastBlock: () => last.inLastBlock,

    makeBlock(time) {
      const earliest = last.lastRowTime + MICROSECOND;
      return chain.makeBlock(time < earliest ? earliest : time);
    },

    replay(block) {
      isReplaying = true;
      try {
        replayBlock(chain, block);
      } finally {
        isReplaying = false;
      }
    },

    save: () => ({
      ...last,
      chain: chain.save(),
      engine: engine.save(),
      world: state.save(),
      history: history.save(),
    }),

    restore({ lastRowTime, inLastBlock, ...saved }) {
      last = { lastRowTime, inLastBlock };
      chain.restore(saved.chain);
      engine.restore(saved.engine);
      state.restore(saved.world);
      commits.restore(saved.world);
      history.restore(saved.history);
    },
  };
}

/** A block that waits until it is committed. */
interface WaitingBlock {
  readonly block: Block;
  readonly events: readonly BlockEvent[];
  readonly stopTimer: StopTimer;
}

/** Creates the committed state, which has each block some time after its events. */
function createCommits(
  current: WorldStore,
  create: () => WorldStore,
  delayMs: number,
  onCommit: (block: Block, events: readonly BlockEvent[]) => void,
) {
  if (delayMs === 0) {
    return { world: current.world, next: () => undefined, add: onCommit, restore() {}, stop() {} };
  }
  const { world, begin, apply, restore } = create();
  const waiting: WaitingBlock[] = [];
  function commit(block: Block, events: readonly BlockEvent[]): void {
    begin(block);
    events.forEach(apply);
    onCommit(block, events);
  }
  function commitNext(): void {
    const next = waiting.shift();
    if (next !== undefined) {
      commit(next.block, next.events);
    }
  }
  function stop(): void {
    for (const { stopTimer } of waiting.splice(0)) {
      stopTimer();
    }
  }
  return {
    world,
    next: () => waiting[0]?.block,
    add(block: Block, events: readonly BlockEvent[], isImmediate: boolean): void {
      if (isImmediate) {
        commit(block, events);
      } else {
        waiting.push({ block, events, stopTimer: startTimer(commitNext, delayMs, { ref: false }) });
      }
    },
    restore(saved: WorldState): void {
      stop();
      restore(saved);
    },
    stop,
  };
}

/** The events of the current block are recorded only while a block is executed. */
type RecorderState =
  | { readonly kind: "idle" }
  | { readonly kind: "block"; readonly block: Block; readonly txHash: string; readonly events: BlockEvent[] };

type EventRecorder = ReturnType<typeof createEventRecorder>;

/** Creates the recorder of a block's events, which applies each event to the state when it is emitted. */
function createEventRecorder(apply: (event: BlockEvent) => void) {
  let state: RecorderState = { kind: "idle" };
  return {
    start(block: Block): void {
      state = { kind: "block", block, txHash: block.hash, events: [] };
    },
    /** Attributes the next events to a transaction, or to the block itself. */
    attributeTo(txHash: string): void {
      state = state.kind === "block" ? { ...state, txHash } : state;
    },
    emit(event: Event): void {
      if (state.kind === "block") {
        const { block, txHash, events } = state;
        const blockEvent = { block, txHash, sequence: events.length + 1, event };
        events.push(blockEvent);
        apply(blockEvent);
      }
    },
    end(): readonly BlockEvent[] {
      const events = state.kind === "block" ? state.events : [];
      state = { kind: "idle" };
      return events;
    },
  };
}

interface Execution {
  readonly engine: Engine;
  readonly world: World;
  readonly recorder: EventRecorder;
  readonly options: LocalNetworkOptions;
  readonly onFailure: (failure: TransactionFailure) => void;
}

/** Executes a block's transactions between the events of its start and its end. */
function executeBlock(
  { engine, world, recorder, options, onFailure }: Execution,
  block: Block,
  transactions: readonly BlockTransaction[],
): readonly CommandResult[] {
  const { emit } = recorder;
  const { height, hash, time } = block;
  emit({ case: "beginBlock", value: create(BeginBlockSchema, { height, timestamp: time, hash }) });
  emit({ case: "timeUpdate", value: create(TimeUpdateSchema, { timestamp: time }) });
  engine.beginBlock(block);
  for (const { id, state } of world.markets.values()) {
    if (TICKING.includes(state)) {
      emit({ case: "marketTick", value: create(MarketTickSchema, { id, time: time / SECOND }) });
    }
  }
  const outcomes = transactions.map((transaction) => {
    recorder.attributeTo(transaction.txHash.toLowerCase());
    const outcome = engine.execute(transaction);
    emit({ case: "transactionResult", value: transactionResult(transaction, outcome) });
    if (outcome.status !== "success") {
      emit({ case: "txErrEvent", value: transactionError(transaction, outcome) });
      const errors = outcome.errors.map(({ key, error }) => (key === "" ? error : `${key}: ${error}`));
      onFailure({ height, txHash: transaction.txHash, errors });
    }
    return outcome;
  });
  recorder.attributeTo(hash);
  for (const command of activityCommands(world, options.activity)) {
    engine.execute(command);
  }
  engine.endBlock();
  if (height % BigInt(options.blocksPerSegment) === 0n) {
    const value = create(CoreSnapshotDataSchema, { blockHeight: height, blockHash: hash, coreVersion: CORE_VERSION });
    emit({ case: "coreSnapshotEvent", value });
  }
  emit({ case: "endBlock", value: create(EndBlockSchema, { height }) });
  return outcomes;
}

function blockCounts(events: readonly BlockEvent[], orders: number): BlockCounts {
  const countOf = (name: Event["case"]) => events.filter(({ event }) => event.case === name).length;
  return { events: events.length - countOf("position"), orders, trades: countOf("trade") };
}

function replayBlock(chain: LocalChain, { height, time, transactions }: MadeBlock): void {
  for (const bytes of transactions) {
    if (chain.submit(receivedBytes(bytes)) !== undefined) {
      throw new RequestError(`the node rejects a transaction of the stored block ${height}`, {
        advice: "The stored blocks were changed, or written by another version of the node. Use another folder.",
      });
    }
  }
  chain.makeBlock(time);
}

/** Returns the last blocks of the generated history, oldest first: as many as transactions can refer to. */
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
