import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { CoreStateService } from "../../../gen/vega/api/v1/corestate_pb.js";
import { AccountTypeSchema } from "../../../gen/vega/vega_pb.js";
import { NETWORK_PARTY, oneOf } from "../data/filters.js";
import { isSettled, latestMarketData } from "../data/market-methods.js";
import { networkLimits, validators } from "../data/network-methods.js";
import { stakeLinkings } from "../data/party-methods.js";
import type { World } from "../world/world.js";

type StateMethods = Pick<
  ServiceImpl<typeof CoreStateService>,
  | "listAccounts"
  | "listAssets"
  | "listMarkets"
  | "listMarketsData"
  | "listNetworkLimits"
  | "listNetworkParameters"
  | "listParties"
  | "listProposals"
  | "listVotes"
  | "listPartiesStake"
  | "listValidators"
>;

/** Implements the methods that return the state of the network's engine. They have no pagination. */
export function stateMethods({ world }: { readonly world: World }): StateMethods {
  const chosen = (id: string) => (id === "" ? [] : [id]);

  return {
    async listAccounts({ party, market }) {
      const isOfParty = oneOf(chosen(party));
      const isOnMarket = oneOf(chosen(market));
      const found = byId(world.accounts.values()).filter(
        ({ owner, marketId }) => isOfParty(owner) && isOnMarket(marketId),
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
      const isChosen = oneOf(chosen(asset));
      return { assets: byId(world.assets.values()).filter(({ id }) => isChosen(id)) };
    },

    async listMarkets({ market: marketId }) {
      // The network's engine removes settled markets.
      const isChosen = oneOf(chosen(marketId));
      return { markets: byId(world.markets.values()).filter((market) => isChosen(market.id) && !isSettled(market)) };
    },

    async listMarketsData({ market }) {
      return { marketsData: latestMarketData(world, chosen(market)) };
    },

    async listNetworkLimits() {
      return { networkLimits: networkLimits(world) };
    },

    async listNetworkParameters({ networkParameterKey }) {
      const isChosen = oneOf(networkParameterKey === "" ? [] : [networkParameterKey]);
      const chosenOnes = [...world.parameters].filter(([key]) => isChosen(key));
      return {
        networkParameters: chosenOnes.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => ({ key, value })),
      };
    },

    async listParties() {
      // The engine of v0.78 lists no other party.
      return { parties: [{ id: NETWORK_PARTY }] };
    },

    async listPartiesStake({ party }) {
      const isOfParty = oneOf(chosen(party));
      return {
        partiesStake: [...world.stakes]
          .filter(([id]) => isOfParty(id))
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
      const isChosen = oneOf(chosen(proposal));
      const isOfParty = oneOf(chosen(proposer));
      const all = [...world.records.proposal.latest.values()].map(({ value }) => value);
      return { proposals: all.filter(({ id, partyId }) => isChosen(id) && isOfParty(partyId)) };
    },

    async listVotes({ proposal, party }) {
      if (proposal === "" && party === "") {
        throw new ConnectError("missing proposal or party filter", Code.Unknown);
      }
      const isChosen = oneOf(chosen(proposal));
      const isOfParty = oneOf(chosen(party));
      const all = [...world.records.vote.latest.values()].map(({ value }) => value);
      return { votes: all.filter(({ proposalId, partyId }) => isChosen(proposalId) && isOfParty(partyId)) };
    },
  };
}

function byId<T extends { readonly id: string }>(records: Iterable<T>): T[] {
  return [...records].sort((a, b) => (a.id < b.id ? -1 : 1));
}
