import { nonceSearch } from "../../gen/wasm/nonce-search.js";

/** The part of WebAssembly's interface that is needed here. The types of Node do not declare it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: NonceSearchExports };
};

/** The exports of assembly/nonce-search.ts. */
interface NonceSearchExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly prefixAddress: { readonly value: number };
  search(prefixLength: number, first: bigint, count: number, difficulty: number): number;
}

/** A search for a nonce with which SHA3-256 of prefix and nonce starts with `difficulty` zero bits. */
export interface NonceSearch {
  /** The message up to the nonce, at most `PREFIX_CAPACITY` bytes. */
  readonly prefix: Uint8Array;
  /** The first nonce to try. */
  readonly first: bigint;
  /** How many zero bits the hash has to start with. */
  readonly difficulty: number;
}

/** The most bytes of a prefix. */
export const PREFIX_CAPACITY = 32_768;

/** One more than the largest nonce. */
export const NONCE_END = 2n ** 64n;

/** Compiled when first needed. Threads are given this module, so that they share its machine code. */
let compiled: object | undefined;

/**
 * Compile the search, once.
 *
 * @returns the WebAssembly module, which threads can share
 */
export function nonceSearchModule(): object {
  compiled ??= new WebAssembly.Module(Buffer.from(nonceSearch, "base64"));
  return compiled;
}

let instance: NonceSearchExports | undefined;

/**
 * Search on the calling thread, which is blocked meanwhile: a few million nonces take a second.
 *
 * @param search the message up to the nonce, the first nonce, and the difficulty in zero bits
 * @param count how many nonces to try
 * @returns the smallest nonce with enough zero bits among the `count` from `search.first` on; `undefined` where there
 *   is none
 */
export function searchNonces(search: NonceSearch, count: number): bigint | undefined {
  instance ??= new WebAssembly.Instance(nonceSearchModule()).exports;
  new Uint8Array(instance.memory.buffer).set(search.prefix, instance.prefixAddress.value);
  const left = NONCE_END - search.first;
  const index = instance.search(
    search.prefix.length,
    search.first,
    left < count ? Number(left) : count,
    search.difficulty,
  );
  return index < 0 ? undefined : search.first + BigInt(index);
}
