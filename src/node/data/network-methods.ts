import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type NetworkLimitsSchema,
  type Node,
  NodeSchema,
  NodeStatus,
  ValidatorNodeStatus,
} from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { apiError, invalidArgument, NO_RESOURCE, requireFound } from "../api-error.js";
import { hashOf } from "../generated-history/seeded-values.js";
import type { Block } from "../world/block-event.js";
import { epochOf, epochTimestamps } from "../world/epochs.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, identifier, NO_IDENTIFIER, oneOf, queryError } from "./filters.js";
import { type DataMethods, listing, stream } from "./method.js";
import { keyPart, type ListingOptions, readPagination, sorted, withNodes } from "./pagination.js";
import type { OpenStreams } from "./streams.js";

/** The version of the interface. The part after the plus sign identifies the local node. */
export const VERSION = "v0.78.0+tradewire.devnode";

/** The only validator of the local network. No party delegates to it at the start. */
const VALIDATOR_ID = hashOf("validator:0");

/** Parameters are listed in ascending order of their keys, the cursors (datanode/sqlstore/network_parameters.go). */
const PARAMETERS: ListingOptions = {
  message: "failed to get network parameters",
  alwaysAscending: true,
  cursors: "text",
};
const ASSET = { message: "failed to get asset for ID" };
const ASSETS = { message: "failed to get assets" };

/** The state of the network, and that of the data node. */
export interface NetworkStates {
  /** The network's current state. It changes with each block, so each call reads it again. */
  readonly world: World;
  /**
   * The state that is committed to the database, which listings read. The data node keeps only the latest market data, the order
   * books, network parameters and the position of a party on a market in memory (v0.78.0, datanode/service/market_data.go,
   * market_depth.go and position.go, and datanode/sqlstore/network_parameters.go).
   */
  readonly committed: World;
  /** Returns the oldest block that is not committed, or `undefined` if all are. */
  uncommitted(): Block | undefined;
}

/** Implements the methods for the node, the network and its parameters. */
export function networkMethods(
  { committed: world, world: current, uncommitted }: NetworkStates,
  streams: OpenStreams,
): DataMethods {
  return {
    info: () => ({ version: VERSION }),
    ping: () => ({}),
    // The data node has begun this block, so it has committed all blocks before (datanode/sqlstore/blocks.go, Add).
    getVegaTime: () => ({ timestamp: (uncommitted() ?? world.block).time }),
    getNetworkLimits: () => ({
      // The data node does not store the limits of the newer kinds of proposals (datanode/entities/limits.go).
      limits: {
        ...networkLimits(world),
        ...{ canProposeSpotMarket: false, canProposePerpetualMarket: false },
        canUseAmm: false,
      },
    }),

    async getEpoch({ id, block }) {
      const { height } = world.block;
      const current = epochOf(height);
      // Future blocks, and block 0, belong to the current epoch.
      const ofBlock = block === undefined || block === 0n || block > height ? current : epochOf(block);
      const epoch = requireFound(
        [id ?? ofBlock].find((seq) => seq <= current),
        "failed to get epoch",
      );
      return { epoch: { seq: epoch, timestamps: epochTimestamps(world, epoch), validators: validators() } };
    },

    listNetworkParameters: listing({
      query: PARAMETERS,
      from: () => sorted(world.parameters, [keyPart.text], ([key]) => [key]),
      answer: (page) => ({ networkParameters: withNodes(page, ([key, value]) => ({ key, value })) }),
    }),

    async getNetworkParameter({ key }) {
      const value = requireFound(current.parameters.get(key), PARAMETERS.message);
      return { networkParameter: { key, value } };
    },

    observeTransactionResults: stream(streams, {
      subject: "transactionResult",
      records: (event) => (event.case === "transactionResult" ? [event.value] : []),
      where({ partyIds, hashes, status }) {
        const isOfParty = oneOf(partyIds);
        const hasHash = oneOf(hashes);
        return (result) =>
          isOfParty(result.partyId) && hasHash(result.hash) && (status === undefined || status === result.status);
      },
      messages: (transactionResults) => [{ transactionResults: [...transactionResults] }],
    }),
  };
}

/** Returns the limits of proposals, which the network parameters determine. */
export function networkLimits({ parameters }: World): MessageInitShape<typeof NetworkLimitsSchema> {
  const from = (what: string) =>
    BigInt(Date.parse(parameters.get(`limits.${what}.proposeEnabledFrom`) ?? "") || 0) * 1_000_000n;
  return {
    canProposeMarket: true,
    canProposeAsset: true,
    proposeMarketEnabled: true,
    proposeAssetEnabled: true,
    genesisLoaded: true,
    proposeMarketEnabledFrom: from("markets"),
    proposeAssetEnabledFrom: from("assets"),
    canProposeSpotMarket: parameters.get("limits.markets.proposeSpotEnabled") === "1",
    canProposePerpetualMarket: parameters.get("limits.markets.proposePerpetualEnabled") === "1",
    canUseAmm: parameters.get("limits.markets.ammPoolEnabled") === "1",
  };
}

export function assetMethods(world: World): DataMethods {
  function single(assetId: string) {
    const inner = (cause: string) => `failed to get asset by ID: ${assetId}: ${cause}`;
    if (!canBeIdentifier(assetId)) {
      throw queryError({ ...ASSET, inner }, NO_IDENTIFIER, Code.InvalidArgument);
    }
    return requireFound(world.assets.get(assetId.toLowerCase()), ASSET.message, inner(NO_RESOURCE));
  }

  return {
    listAssets: listing({
      check: ({ assetId = "" }) => assetId === "" || single(assetId),
      page: ({ assetId = "", pagination }) =>
        readPagination(assetId === "" ? pagination : undefined, (reason) =>
          queryError(ASSETS, `${reason}: invalid pagination`),
        ),
      query: { ...ASSETS, inner: (cause: string) => `${cause}: ${ASSETS.message}` },
      from: ({ assetId = "" }) =>
        sorted(assetId === "" ? world.assets.values() : [single(assetId)], [keyPart.id], ({ id }) => [id]),
      answer: (assets) => ({ assets }),
    }),

    async getAsset({ assetId }) {
      const id = identifier(assetId, "missing asset ID", "invalid asset ID");
      return { asset: requireFound(world.assets.get(id), ASSET.message) };
    },
  };
}

/** Returns the only validator of the local network. */
export function validators(): Node[] {
  return [
    create(NodeSchema, {
      id: VALIDATOR_ID,
      pubKey: hashOf("validator:0:key"),
      tmPubKey: Buffer.from(hashOf("validator:0:consensus"), "hex").toString("base64"),
      ethereumAddress: `0x${hashOf("validator:0:ethereum").slice(0, 40)}`,
      name: "tradewire devnode",
      stakedByOperator: "0",
      stakedByDelegates: "0",
      stakedTotal: "0",
      maxIntendedStake: "0",
      pendingStake: "0",
      status: NodeStatus.VALIDATOR,
      rankingScore: {
        stakeScore: "0",
        performanceScore: "0",
        previousStatus: ValidatorNodeStatus.TENDERMINT,
        status: ValidatorNodeStatus.TENDERMINT,
        votingPower: 10,
        rankingScore: "0",
      },
    }),
  ];
}

export function nodeMethods(world: World): DataMethods {
  return {
    listNodes: listing({
      query: { message: "failed to get nodes" },
      from: () => sorted(validators(), [keyPart.id], ({ id }) => [id]),
      answer: (nodes) => ({ nodes }),
    }),

    async getNode({ id }) {
      if (id === "") {
        throw invalidArgument("missing node id");
      }
      if (!canBeIdentifier(id)) {
        throw invalidArgument(NO_IDENTIFIER);
      }
      const node = validators().find((each) => each.id === id.toLowerCase());
      if (node === undefined) {
        throw apiError(Code.NotFound, NO_RESOURCE);
      }
      return { node };
    },

    async getNetworkData() {
      const uptime = Number(world.block.time - (world.blockAt(1n)?.time ?? world.block.time)) / 60e9;
      return {
        nodeData: {
          stakedTotal: "0",
          totalNodes: 1,
          inactiveNodes: 1,
          tendermintNodes: {
            total: 1,
            inactive: 1,
            maximum: Number(world.parameters.get("network.validators.tendermint.number") ?? 0),
          },
          ersatzNodes: { maximum: 0 },
          pendingNodes: {},
          uptime,
        },
      };
    },
  };
}
