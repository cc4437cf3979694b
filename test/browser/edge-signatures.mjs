// Signatures on which implementations of Ed25519 differ: keys and points of small order, encodings that are not canonical, and
// scalars that are too large.
import { createHash } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { sha3_256 } from "@noble/hashes/sha3.js";

const { Point } = ed25519;
const ORDER = Point.Fn.ORDER;

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const scalarBytes = (scalar) => Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();
const littleEndian = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex") || "0"}`);

/** The encodings of the points of small order, those that are not canonical included, as hex digits. */
const SMALL = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  "0100000000000000000000000000000000000000000000000000000000000080",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];

/** The points of small order, of order 8 among them, as hex digits. */
const TORSION = SMALL.slice(0, 8);

/** Returns triples of a message and, as hex digits, a signature and a public key. */
export function edgeSignatures() {
  const seed = Buffer.alloc(32, 0x0b);
  const key = ed25519.getPublicKey(seed);
  const scalar = ed25519.utils.getExtendedPublicKey(seed).scalar;
  const cases = [];
  for (let count = 0; count < 6; count += 1) {
    const message = `message ${count}`;
    const digest = sha3_256(new TextEncoder().encode(message));
    const valid = ed25519.sign(digest, seed);
    cases.push([message, hex(valid), hex(key)]);
    const s = littleEndian(valid.subarray(32));
    cases.push([message, hex([...valid.subarray(0, 32), ...scalarBytes(s + ORDER)]), hex(key)]);
    cases.push([message, hex([...valid.subarray(0, 32), ...scalarBytes(ORDER)]), hex(key)]);
    for (const r of SMALL) {
      for (const a of SMALL) {
        cases.push([message, `${r}${"00".repeat(32)}`, a]);
      }
    }
    // A key, and a point of the signature, with a part of small order.
    for (const torsion of TORSION) {
      const small = Point.fromHex(torsion, true);
      const mixed = Point.BASE.multiply(scalar).add(small);
      for (const nonce of [5n, 6n]) {
        for (const point of [Point.BASE.multiply(nonce), Point.BASE.multiply(nonce).add(small)]) {
          const bytes = Buffer.concat([point.toBytes(), mixed.toBytes(), digest]);
          const hashed = Point.Fn.create(littleEndian(createHash("sha512").update(bytes).digest()));
          const sum = scalarBytes(Point.Fn.create(nonce + hashed * scalar));
          cases.push([message, hex([...point.toBytes(), ...sum]), hex(mixed.toBytes())]);
        }
      }
    }
    for (let y = 0; y < 20; y += 1) {
      // Keys that are no points, or that have an encoding of their own.
      cases.push([message, hex(valid), hex([y, ...new Uint8Array(31)]), hex(key)].slice(0, 3));
      cases.push([message, hex(valid), hex([0xff - y, ...new Uint8Array(30).fill(0xff), 0x7f])]);
    }
  }
  return cases;
}
