import { assertKnownKeys, assertObject, parseSignal } from "../../base/input/assert.js";
import { lazily } from "../../base/input/lazy.js";
import { loadSending } from "../live/outcomes.js";
import { namedChain, requireChain } from "../transaction/signing-chain.js";
import { readSigner } from "../transaction/transaction.js";
import type { Guard, GuardOptions, GuardServices } from "./guard-types.js";
import { parsePolicy } from "./policy.js";

export type { Guard, GuardOptions, KillOptions, KillReport } from "./guard-types.js";

/** Loads all that a guard and its kill switch need: nothing may be left to load when orders must be canceled. */
const loadGuarding = lazily(async () => {
  const [keepGuard] = await Promise.all([
    import("./keep-guard.js").then((guarding) => guarding.keepGuard),
    loadSending(),
  ]);
  return keepGuard;
});

/** Creates a guard, and loads the data that its policy needs. */
export async function createGuard(services: GuardServices, options: GuardOptions): Promise<Guard> {
  assertObject("options", options);
  assertKnownKeys("options", options, { signer: true, policy: true, chainId: true, signal: true });
  const signer = readSigner(options.signer);
  const policy = parsePolicy(options.policy);
  const signal = parseSignal(options.signal);
  const named = namedChain(options.chainId, services);
  const { chainId } = await services.transactions.lastBlockHeight({ signal });
  requireChain(chainId, named);
  const keepGuard = await loadGuarding();
  return keepGuard(services, { signer, policy, chainId }, signal);
}
