// AssemblyScript, not TypeScript: see nonce-search.ts.

/** Bytes that a lane takes up in memory: 8 for each of the two messages. */
export const LANE: usize = 16;
export const STATE_LANES: usize = 25;

// biome-ignore-start lint/correctness/noPrecisionLoss: these are u64 in AssemblyScript
const roundConstants: usize = memory.data<u64>([
  0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
  0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
  0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
  0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
  0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
]);
// biome-ignore-end lint/correctness/noPrecisionLoss: as above

/**
 * Keccak-f[1600] (FIPS 202, 3.2 to 3.4) on two states in parallel: each lane is a v128 whose low half belongs to one state and
 * whose high half to the other. Lane (x, y) of the standard has the number x + 5y here.
 *
 * The round is deliberately the body of a loop: if unrolled, the code outgrows the
 * processor's instruction cache and takes twice as long.
 */
export function permute(state: usize): void {
  let a0 = v128.load(state, 0 * LANE);
  let a1 = v128.load(state, 1 * LANE);
  let a2 = v128.load(state, 2 * LANE);
  let a3 = v128.load(state, 3 * LANE);
  let a4 = v128.load(state, 4 * LANE);
  let a5 = v128.load(state, 5 * LANE);
  let a6 = v128.load(state, 6 * LANE);
  let a7 = v128.load(state, 7 * LANE);
  let a8 = v128.load(state, 8 * LANE);
  let a9 = v128.load(state, 9 * LANE);
  let a10 = v128.load(state, 10 * LANE);
  let a11 = v128.load(state, 11 * LANE);
  let a12 = v128.load(state, 12 * LANE);
  let a13 = v128.load(state, 13 * LANE);
  let a14 = v128.load(state, 14 * LANE);
  let a15 = v128.load(state, 15 * LANE);
  let a16 = v128.load(state, 16 * LANE);
  let a17 = v128.load(state, 17 * LANE);
  let a18 = v128.load(state, 18 * LANE);
  let a19 = v128.load(state, 19 * LANE);
  let a20 = v128.load(state, 20 * LANE);
  let a21 = v128.load(state, 21 * LANE);
  let a22 = v128.load(state, 22 * LANE);
  let a23 = v128.load(state, 23 * LANE);
  let a24 = v128.load(state, 24 * LANE);

  for (let round: usize = 0; round < 24; round++) {
    // θ
    const c0 = xor5(a0, a5, a10, a15, a20);
    const c1 = xor5(a1, a6, a11, a16, a21);
    const c2 = xor5(a2, a7, a12, a17, a22);
    const c3 = xor5(a3, a8, a13, a18, a23);
    const c4 = xor5(a4, a9, a14, a19, a24);
    const d0 = xor(c4, rotate(c1, 1));
    const d1 = xor(c0, rotate(c2, 1));
    const d2 = xor(c1, rotate(c3, 1));
    const d3 = xor(c2, rotate(c4, 1));
    const d4 = xor(c3, rotate(c0, 1));

    // ρ and π
    const b0 = xor(a0, d0);
    const b1 = rotate(xor(a6, d1), 44);
    const b2 = rotate(xor(a12, d2), 43);
    const b3 = rotate(xor(a18, d3), 21);
    const b4 = rotate(xor(a24, d4), 14);
    const b5 = rotate(xor(a3, d3), 28);
    const b6 = rotate(xor(a9, d4), 20);
    const b7 = rotate(xor(a10, d0), 3);
    const b8 = rotate(xor(a16, d1), 45);
    const b9 = rotate(xor(a22, d2), 61);
    const b10 = rotate(xor(a1, d1), 1);
    const b11 = rotate(xor(a7, d2), 6);
    const b12 = rotate(xor(a13, d3), 25);
    const b13 = rotate(xor(a19, d4), 8);
    const b14 = rotate(xor(a20, d0), 18);
    const b15 = rotate(xor(a4, d4), 27);
    const b16 = rotate(xor(a5, d0), 36);
    const b17 = rotate(xor(a11, d1), 10);
    const b18 = rotate(xor(a17, d2), 15);
    const b19 = rotate(xor(a23, d3), 56);
    const b20 = rotate(xor(a2, d2), 62);
    const b21 = rotate(xor(a8, d3), 55);
    const b22 = rotate(xor(a14, d4), 39);
    const b23 = rotate(xor(a15, d0), 41);
    const b24 = rotate(xor(a21, d1), 2);

    // χ and ι
    a0 = xor(chi(b0, b1, b2), v128.load64_splat(roundConstants + round * 8));
    a1 = chi(b1, b2, b3);
    a2 = chi(b2, b3, b4);
    a3 = chi(b3, b4, b0);
    a4 = chi(b4, b0, b1);
    a5 = chi(b5, b6, b7);
    a6 = chi(b6, b7, b8);
    a7 = chi(b7, b8, b9);
    a8 = chi(b8, b9, b5);
    a9 = chi(b9, b5, b6);
    a10 = chi(b10, b11, b12);
    a11 = chi(b11, b12, b13);
    a12 = chi(b12, b13, b14);
    a13 = chi(b13, b14, b10);
    a14 = chi(b14, b10, b11);
    a15 = chi(b15, b16, b17);
    a16 = chi(b16, b17, b18);
    a17 = chi(b17, b18, b19);
    a18 = chi(b18, b19, b15);
    a19 = chi(b19, b15, b16);
    a20 = chi(b20, b21, b22);
    a21 = chi(b21, b22, b23);
    a22 = chi(b22, b23, b24);
    a23 = chi(b23, b24, b20);
    a24 = chi(b24, b20, b21);
  }

  v128.store(state, a0, 0 * LANE);
  v128.store(state, a1, 1 * LANE);
  v128.store(state, a2, 2 * LANE);
  v128.store(state, a3, 3 * LANE);
  v128.store(state, a4, 4 * LANE);
  v128.store(state, a5, 5 * LANE);
  v128.store(state, a6, 6 * LANE);
  v128.store(state, a7, 7 * LANE);
  v128.store(state, a8, 8 * LANE);
  v128.store(state, a9, 9 * LANE);
  v128.store(state, a10, 10 * LANE);
  v128.store(state, a11, 11 * LANE);
  v128.store(state, a12, 12 * LANE);
  v128.store(state, a13, 13 * LANE);
  v128.store(state, a14, 14 * LANE);
  v128.store(state, a15, 15 * LANE);
  v128.store(state, a16, 16 * LANE);
  v128.store(state, a17, 17 * LANE);
  v128.store(state, a18, 18 * LANE);
  v128.store(state, a19, 19 * LANE);
  v128.store(state, a20, 20 * LANE);
  v128.store(state, a21, 21 * LANE);
  v128.store(state, a22, 22 * LANE);
  v128.store(state, a23, 23 * LANE);
  v128.store(state, a24, 24 * LANE);
}

function xor(a: v128, b: v128): v128 {
  return v128.xor(a, b);
}

function xor5(a: v128, b: v128, c: v128, d: v128, e: v128): v128 {
  return xor(xor(xor(xor(a, b), c), d), e);
}

function rotate(lane: v128, bits: i32): v128 {
  return v128.or(i64x2.shl(lane, bits), i64x2.shr_u(lane, 64 - bits));
}

function chi(a: v128, b: v128, c: v128): v128 {
  return xor(a, v128.andnot(c, b));
}
