import { create } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type Node, NodeSchema, NodeStatus, ValidatorNodeStatus } from "../../../gen/vega/vega_pb.js";
import { apiError, invalidArgument, NO_RESOURCE } from "../api-error.js";
import { hashOf } from "../made-up/numbers.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, NO_IDENTIFIER } from "./conditions.js";
import { keyPart, sortedListing } from "./listing.js";
import { readPage } from "./page.js";

type NodeMethods = Pick<ServiceImpl<typeof TradingDataService>, "listNodes" | "getNode" | "getNetworkData">;

/** The only validator of the local network. Nobody delegates to it. */
const VALIDATOR_ID = hashOf("validator:0");

/**
 * Describe the validators of the local network, of which there is one.
 *
 * @returns the validators, as `GetEpoch` and `ListNodes` have them
 */
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

/**
 * Implement the methods for the network's nodes.
 *
 * @param world how things stand
 * @returns the methods of the data service that list and describe nodes
 */
export function nodeMethods(world: World): NodeMethods {
  return {
    async listNodes({ pagination }) {
      const listing = sortedListing(validators(), [keyPart.id], ({ id }) => [id]);
      return { nodes: readPage(listing, pagination, (node) => node, { message: "failed to get nodes" }) };
    },

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
