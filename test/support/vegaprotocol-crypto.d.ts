// The package has no types. These are for the functions that the tests use.
declare module "@vegaprotocol/crypto/pow" {
  /**
   * Find the first nonce of a proof of work in one thread.
   *
   * @param difficulty the number of zero bits, 1 to 50
   * @param blockHash 64 hex digits
   * @param tid 64 hex digits
   * @param startNonce the first nonce to try
   * @param endNonce the end of the nonces to try
   * @returns the nonce, or `undefined` if there is none
   */
  export function solve(
    difficulty: number,
    blockHash: string,
    tid: string,
    startNonce?: bigint,
    endNonce?: bigint,
  ): Promise<{ nonce: bigint | undefined; tid: string; hashFunction: string }>;

  /**
   * Check a proof of work.
   *
   * @param difficulty the number of zero bits
   * @param blockHash 64 hex digits
   * @param tid 64 hex digits
   * @param nonce the nonce
   * @returns whether the hash starts with that many zero bits
   */
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
