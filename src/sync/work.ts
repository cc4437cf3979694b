import type { UnitOutcome } from "./load-unit.js";
import type { Unit } from "./unit.js";

/**
 * Load units, several side by side, in their order.
 *
 * @param units each is taken once
 * @param parallel how many at once, at most
 * @param load loads one
 * @param onOutcome is told what became of each
 * @param stop ends what is under way; called once `load` or `onOutcome` has thrown
 * @throws the first thing that they throw, once nothing is under way
 */
export async function work(
  units: readonly Unit[],
  parallel: number,
  load: (unit: Unit) => Promise<UnitOutcome>,
  onOutcome: (unit: Unit, outcome: UnitOutcome) => void,
  stop: () => void,
): Promise<void> {
  const left = units.values();
  let failure: { readonly reason: unknown } | undefined;

  async function worker(): Promise<void> {
    try {
      // The workers share one iterator, so that each unit is taken once.
      for (const unit of left) {
        if (failure !== undefined) {
          return;
        }
        onOutcome(unit, await load(unit));
      }
    } catch (reason) {
      failure ??= { reason };
      stop();
    }
  }

  await Promise.all(Array.from({ length: Math.min(parallel, units.length) }, worker));
  if (failure !== undefined) {
    throw failure.reason;
  }
}
