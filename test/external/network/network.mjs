// A running network: clients of all its endpoints, fresh parties, and what its own software says of transactions.
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, signerFromSeed } from "tradewire";
import { CoreService, CoreStateService, TradingDataService, vegaEventsV1 } from "tradewire/api";

/** The assets of the network: VOTE counts as stake, TDAI settles the markets. Both have 5 decimals. */
export const VOTE = "0".repeat(64);
export const TDAI = `${"1".repeat(63)}d`;

/** What each client may ask a second: a node refuses an address that asks more than 20 times, and then bans it. */
const CALLS_PER_SECOND = 10;

/** How long the network may take to answer at the start, in milliseconds. */
const PROBE_MS = 5000;

/** How long one look for something that must appear may take, in milliseconds, and the pause between two looks. */
const EVENTUALLY_MS = 60_000;
const LOOK_MS = 250;

/** How often the core takes the balances that its rules against spam look at, and a block: nanoseconds. */
const SNAPSHOT_NS = 7_000_000_000n;

/** No network answers at the address. */
export class NoNetworkError extends Error {}

/**
 * Connect to a network.
 *
 * @throws NoNetworkError where the core does not answer, in one line
 */
export async function openNetwork({ host, ports, user, database }) {
  const url = (name) => (ports[name] === undefined ? undefined : `http://${host}:${ports[name]}`);
  const config = { profile: "deployed", limits: { callsPerSecond: CALLS_PER_SECOND } };
  const clients = {};
  const urls = {
    coreGrpc: url("core-grpc"),
    coreRest: url("core-rest"),
    dataGrpc: url("data-grpc"),
    dataRest: url("data-rest"),
    faucet: url("faucet"),
    comet: url("comet"),
    postgres: ports.postgres === undefined ? undefined : `postgres://${user}@${host}:${ports.postgres}/${database}`,
  };
  const core = createClient({ ...config, transport: "grpc", grpc: { url: urls.coreGrpc } });
  let block;
  try {
    block = await core.service(CoreService).lastBlockHeight({}, { timeoutMs: PROBE_MS });
  } catch (error) {
    await core.close();
    throw new NoNetworkError(
      `no network answers at ${urls.coreGrpc} (${error.message.split("\n")[0]}): start one as CONTRIBUTING.md describes under "Against the real network", or give --host and the ports`,
    );
  }
  const { chainId } = block;
  const client = (transport, endpoints) => createClient({ ...config, chainId, transport, ...endpoints });
  Object.assign(clients, {
    grpc: client("grpc", { grpc: { url: urls.dataGrpc } }),
    "grpc-js": client("grpc-js", { grpc: { url: urls.dataGrpc } }),
    rest: client("rest", { rest: { url: urls.dataRest } }),
    coreGrpc: client("grpc", { grpc: { url: urls.coreGrpc } }),
    coreRest: client("rest", { rest: { url: urls.coreRest } }),
  });
  await core.close();
  const services = {
    data: clients.grpc.service(TradingDataService),
    core: clients.coreGrpc.service(CoreService),
    state: clients.coreGrpc.service(CoreStateService),
  };
  const run = randomBytes(4).toString("hex");
  const bus = watchBus(services.core);
  const network = {
    urls,
    chainId,
    clients,
    services,
    bus,
    run,
    createClient: (more, hooks) => createClient({ ...config, chainId, ...more }, hooks),

    /** The height of the core's last block. */
    height: async () => (await services.core.lastBlockHeight({})).height,

    /** A key that no other run has. */
    signer: (name) => signerFromSeed(createHash("sha256").update(`${run} ${name}`).digest()),

    /** Deposit assets for parties through the faucet, and wait until the data node has the accounts. */
    async fund(signers, amounts = { [VOTE]: 10n ** 12n, [TDAI]: 10n ** 14n }) {
      for (const { publicKey: party } of signers) {
        for (const [asset, amount] of Object.entries(amounts)) {
          const body = JSON.stringify({ party, amount: String(amount), asset });
          const response = await fetch(`${urls.faucet}/api/v1/mint`, { method: "POST", body });
          if (!response.ok) {
            throw new Error(`the faucet answered ${response.status}: ${await response.text()}`);
          }
        }
      }
      const wanted = Object.keys(amounts).length;
      for (const { publicKey } of signers) {
        await eventually(`the accounts of ${publicKey}`, async () => {
          const { accounts } = await services.data.listAccounts({ filter: { partyIds: [publicKey] } });
          return (accounts?.edges.filter(({ node }) => node?.type === 4).length ?? 0) >= wanted ? true : undefined;
        });
      }
    },

    /** Deposit assets, and wait until the core counts them in its rules against spam. */
    async fundAndWait(signers) {
      await network.fund(signers);
      const time = async () => (await services.core.getVegaTime({})).timestamp;
      const end = (await time()) + SNAPSHOT_NS;
      await eventually("the next snapshot of balances", async () => ((await time()) > end ? true : undefined));
    },

    /** Wait for a number of further blocks. */
    async blocks(count = 1) {
      const last = (await network.height()) + BigInt(count);
      await eventually(`block ${last}`, async () => ((await network.height()) >= last ? true : undefined));
    },

    /** The height of the block that has the transaction, as CometBFT's own index says; `undefined` for none. */
    async cometBlock(txHash) {
      const response = await fetch(`${urls.comet}/tx?hash=0x${txHash}`);
      const { result } = await response.json();
      return result === undefined ? undefined : BigInt(result.height);
    },

    async close() {
      bus.close();
      await Promise.all(Object.values(clients).map((each) => each.close()));
    },
  };
  return network;
}

/** Look for something until it is there. */
export async function eventually(what, look, ms = EVENTUALLY_MS) {
  const end = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== undefined) {
      return found;
    }
    if (performance.now() > end) {
      throw new Error(`${what} did not come within ${ms / 1000} s`);
    }
    await sleep(LOOK_MS);
  }
}

/** Names of the events' types by their numbers, by which the raw bus is asked. */
const ALL = vegaEventsV1.BusEventType.ALL;

/** Keep the core's events by transaction, read without the code under test that joins results and transactions. */
function watchBus(core) {
  const ending = new AbortController();
  const byHash = new Map();
  const listeners = new Set();
  let failure;
  async function* requests() {
    yield { type: [ALL], batchSize: 0n };
    await new Promise((resolve) => ending.signal.addEventListener("abort", resolve));
  }
  const reading = (async () => {
    for await (const { events } of core.observeEventBus(requests(), { signal: ending.signal })) {
      for (const event of events) {
        for (const listen of listeners) {
          listen(event);
        }
        const hash = event.txHash.toUpperCase();
        byHash.set(hash, [...(byHash.get(hash) ?? []), event]);
      }
    }
    throw new Error("the core's event bus ended");
  })().catch((error) => {
    failure = error;
  });
  return {
    /** The hashes of all transactions with events. */
    hashes: () => [...byHash.keys()].filter((hash) => hash.length === 64),
    /** The events of a transaction, in the order of their arrival. */
    eventsOf: (txHash) => byHash.get(txHash.toUpperCase()) ?? [],
    /** Wait for the network's result of a transaction; `undefined` where none came within the blocks. */
    async resultOf(txHash, ms = 10_000) {
      return eventually(
        "a result",
        async () => {
          if (failure !== undefined && !ending.signal.aborted) {
            throw failure;
          }
          return byHash.get(txHash.toUpperCase())?.find(({ event }) => event.case === "transactionResult");
        },
        ms,
      ).catch((error) => {
        if (failure !== undefined) {
          throw error;
        }
        return undefined;
      });
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      ending.abort();
      return reading;
    },
  };
}
