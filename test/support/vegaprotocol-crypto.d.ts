// The package has no types of its own. This is what the tests use of it.
declare module "@vegaprotocol/crypto/pow" {
  /** Finds the first nonce from `startNonce` on, one thread, difficulty 1 to 50; `nonce` is undefined if there is none. */
  export function solve(
    difficulty: number,
    blockHash: string,
    tid: string,
    startNonce?: bigint,
    endNonce?: bigint,
  ): Promise<{ nonce: bigint | undefined; tid: string; hashFunction: string }>;

  export function verify(difficulty: number, blockHash: string, tid: string, nonce: bigint): Promise<boolean>;
}

declare module "@vegaprotocol/crypto" {
  interface KeyPair {
    readonly publicKey: { toString(): string };
    sign(message: Uint8Array, chainId?: string): Promise<Uint8Array>;
    verify(signature: Uint8Array, message: Uint8Array, chainId?: string): Promise<boolean>;
  }
  export const VegaWallet: {
    fromMnemonic(mnemonic: string): Promise<{ keyPair(index: number): Promise<KeyPair> }>;
  };
  export const HARDENED: number;
}

declare module "@vegaprotocol/crypto/keypair" {
  import type { KeyPair as Pair } from "@vegaprotocol/crypto";
  export const KeyPair: { fromSeed(index: number, seed: Uint8Array): Promise<Pair> };
}
