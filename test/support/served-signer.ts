import { type GuardMode, RequestError, type ServedSigner, type Signer, withSharedCount } from "tradewire";

/** A guard of a test: it signs what does not begin with a zero byte, and counts its calls. */
export interface TestGuard extends ServedSigner {
  readonly signed: Uint8Array[];
  kills: number;
}

/** Makes what a signer process serves. */
export function testGuard(signer: Signer, before: () => Promise<unknown> = async () => undefined): TestGuard {
  const { takeShare } = signer.takeShare === undefined ? withSharedCount(signer) : signer;
  let mode: GuardMode = "active";
  const guard: TestGuard = {
    publicKey: signer.publicKey,
    signed: [],
    kills: 0,
    takeShare: (block) => takeShare?.(block),
    async sign(message) {
      await before();
      if (message[0] === 0) {
        throw new RequestError("the policy refuses it", { advice: "Sign something else.", option: "message" });
      }
      guard.signed.push(message);
      return await signer.sign(message);
    },
    get mode() {
      return mode;
    },
    setMode(next) {
      mode = next;
    },
    async kill() {
      mode = "halted";
      guard.kills += 1;
      await before();
      return {
        isClear: true,
        cancellations: { sent: guard.kills, executed: guard.kills },
        orders: [],
        stopOrders: undefined,
        unseen: 0,
        positions: { "6e": "-1.5" },
        problems: [],
      };
    },
  };
  return guard;
}
