import { nonceSearch } from "../../gen/wasm/nonce-search.js";

/** The part of WebAssembly's interface that is needed here: the types of Node know nothing of it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: NonceSearchExports };
};

/** What assembly/nonce-search.ts exports. */
interface NonceSearchExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly prefixAddress: { readonly value: number };
  search(prefixLength: number, first: bigint, count: number, difficulty: number): number;
}

/** What is looked for: a nonce with which SHA3-256 of prefix and nonce starts with `difficulty` zero bits. */
export interface NonceSearch {
  /** The message up to the nonce, not longer than `PREFIX_CAPACITY`. */
  readonly prefix: Uint8Array;
  /** The first nonce to try. */
  readonly first: bigint;
  /** How many zero bits the hash has to start with. */
  readonly difficulty: number;
}

/** The most bytes that a prefix can have. */
export const PREFIX_CAPACITY = 32_768;

/** One more than the largest nonce. */
export const NONCE_END = 2n ** 64n;

/** Compiled when first needed; threads are given it as it is, and share the machine code too. */
let compiled: object | undefined;

/** The compiled search, for threads that search as well. */
export function nonceSearchModule(): object {
  compiled ??= new WebAssembly.Module(Buffer.from(nonceSearch, "base64"));
  return compiled;
}

let instance: NonceSearchExports | undefined;

/**
 * Searches on the calling thread, which it blocks meanwhile: a few million nonces take a second.
 *
 * @returns The smallest nonce that will do among the `count` from `search.first` on; `undefined` if there is none.
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
