// The parts of our work, each alone: what the whole cannot be cheaper than.
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { ListStopOrdersResponseSchema } from "../../dist/gen/datanode/api/v2/trading_data_pb.js";
import { pageOf } from "../server/contents.mjs";

const PIECE = Buffer.alloc(1024 * 1024, "a piece of an archive, ");

/** The SHA-256 of as many bytes. */
export function sha256({ bytes }) {
  const hash = createHash("sha256");
  repeat(bytes, (piece) => hash.update(piece));
  return hash.digest("hex").length === 64 ? bytes : 0;
}

/** Their CRC-32. */
export function crc({ bytes }) {
  let value = 0;
  repeat(bytes, (piece) => {
    value = crc32(piece, value);
  });
  return value > 0 ? bytes : 0;
}

/** A file of as many bytes, synced. */
export async function write({ bytes, folder }) {
  const file = await open(join(folder, "written"), "w");
  for (let left = bytes; left > 0; left -= PIECE.length) {
    await file.write(PIECE, 0, Math.min(left, PIECE.length));
  }
  await file.sync();
  await file.close();
  return bytes;
}

function repeat(bytes, take) {
  for (let left = bytes; left > 0; left -= PIECE.length) {
    take(left < PIECE.length ? PIECE.subarray(0, left) : PIECE);
  }
}

/** The decoding of pages of stop orders, from Protobuf or JSON; to make them is no part of it. */
export function decodePages({ pages, form }) {
  const message = (index) => create(ListStopOrdersResponseSchema, pageOf(index, pages));
  const encoded = Array.from({ length: pages }, (_, index) =>
    form === "json"
      ? JSON.stringify(toJson(ListStopOrdersResponseSchema, message(index), { alwaysEmitImplicit: true }))
      : toBinary(ListStopOrdersResponseSchema, message(index)),
  );
  return function run() {
    let records = 0;
    for (const page of encoded) {
      const { orders } =
        form === "json"
          ? fromJson(ListStopOrdersResponseSchema, JSON.parse(page))
          : fromBinary(ListStopOrdersResponseSchema, page);
      records += orders.edges.length;
    }
    return records;
  };
}
