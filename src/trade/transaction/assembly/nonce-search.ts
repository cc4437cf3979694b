// AssemblyScript, not TypeScript: compile.mjs makes gen/wasm/nonce-search.ts, a WebAssembly module, out of it.
import { LANE, permute, STATE_LANES } from "./keccak";

/** Bytes of a message that one permutation of SHA3-256 absorbs. */
const RATE: usize = 136;
const RATE_LANES: usize = 17;

/** The maximum number of bytes of a message that can come before the nonce: PREFIX_CAPACITY of ../nonce-search.ts. */
const prefixCapacity: usize = 32768;
/** The address at which the caller writes them; space for the nonce and the padding follows. */
export const prefixAddress: usize = memory.data((prefixCapacity + 2 * RATE) as i32, 16);

/** The state that is permuted. */
const state: usize = memory.data((STATE_LANES * LANE) as i32, 16);
/** The state after the whole blocks of the prefix, which no nonce changes. */
const prefixState: usize = memory.data((STATE_LANES * LANE) as i32, 16);
/** The last one or two blocks: the rest of the prefix, the nonce, the padding. */
const tail: usize = memory.data((RATE_LANES * LANE * 2) as i32, 16);

/**
 * Searches for the smallest of `count` nonces from `first` on with which SHA3-256 of the prefix and the nonce (8 bytes,
 * big-endian) starts with at least `difficulty` zero bits. It tries two nonces at a time.
 *
 * @param prefixLength - How many bytes there are at `prefixAddress`.
 * @returns The offset from `first`, or -1 if no nonce is suitable.
 */
export function search(prefixLength: usize, first: u64, count: i32, difficulty: i32): i32 {
  const rest = prefixLength % RATE;
  const tailBlocks = absorbPrefix(prefixLength - rest, rest);

  // The nonce need not start where a lane does: its last bytes may be in the next lane, or even in the next block.
  const nonceLane = tail + (rest >> 3) * LANE;
  const shift = ((rest & 7) << 3) as i32;
  const start = v128.load(nonceLane);
  const end = v128.load(nonceLane, LANE);

  for (let i = 0; i < count; i += 2) {
    const nonces = i64x2(bswap<u64>(first + i), bswap<u64>(first + i + 1));
    v128.store(nonceLane, v128.xor(start, i64x2.shl(nonces, shift)));
    // By 64 - shift, but a shift by 64 would be one by 0.
    v128.store(nonceLane, v128.xor(end, i64x2.shr_u(i64x2.shr_u(nonces, 1), 63 - shift)), LANE);

    memory.copy(state, prefixState, STATE_LANES * LANE);
    for (let block: usize = 0; block < tailBlocks; block++) absorb(tail + block * RATE_LANES * LANE);

    if (zeroBits(state) >= difficulty) return i;
    if (zeroBits(state + 8) >= difficulty && i + 1 < count) return i + 1;
  }
  return -1;
}

/** Makes `prefixState`, and `tail` with a nonce of 0; returns how many blocks the tail has. */
function absorbPrefix(wholeBlocks: usize, rest: usize): usize {
  memory.fill(state, 0, STATE_LANES * LANE);
  for (let offset: usize = 0; offset < wholeBlocks; offset += RATE) {
    layOut(prefixAddress + offset, RATE_LANES);
    absorb(tail);
  }
  memory.copy(prefixState, state, STATE_LANES * LANE);

  const tailBlocks: usize = rest + 8 < RATE ? 1 : 2;
  const address = prefixAddress + wholeBlocks;
  const last = address + tailBlocks * RATE - 1;
  memory.fill(address + rest, 0, 2 * RATE - rest);
  store<u8>(address + rest + 8, 0x06);
  store<u8>(last, load<u8>(last) | 0x80);
  layOut(address, 2 * RATE_LANES);
  return tailBlocks;
}

/** Lays bytes out in `tail` as lanes, the same for both nonces. */
function layOut(address: usize, lanes: usize): void {
  for (let lane: usize = 0; lane < lanes; lane++) v128.store(tail + lane * LANE, v128.load64_splat(address + lane * 8));
}

function absorb(block: usize): void {
  for (let offset: usize = 0; offset < RATE_LANES * LANE; offset += LANE) {
    v128.store(state + offset, v128.xor(v128.load(state + offset), v128.load(block + offset)));
  }
  permute(state);
}

/** The zero bits that the hash of one of the two nonces starts with. */
function zeroBits(hash: usize): i32 {
  let bits = 0;
  for (let lane: usize = 0; lane < 4; lane++) {
    const zeros = clz(bswap(load<u64>(hash + lane * LANE))) as i32;
    bits += zeros;
    if (zeros < 64) break;
  }
  return bits;
}
