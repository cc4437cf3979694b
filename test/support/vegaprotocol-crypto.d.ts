// The package has no types. These are for the functions that the tests use.
declare module "@vegaprotocol/crypto/pow" {
  /** Find the first nonce of a proof of work in one thread. */
  export function solve(
    difficulty: number,
    blockHash: string,
    tid: string,
    startNonce?: bigint,
    endNonce?: bigint,
  ): Promise<{ nonce: bigint | undefined; tid: string; hashFunction: string }>;

  /** Check a proof of work. */
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
