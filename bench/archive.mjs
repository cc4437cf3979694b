// An archive of 1 GiB with one stored file, in parts of 1 MiB, so that its server has almost nothing to compute.
import { randomFillSync } from "node:crypto";
import { crc32 } from "node:zlib";

const PART = Buffer.alloc(1024 * 1024);
const PARTS = 1024;
const NAME = Buffer.from("bench-trades-1-1000.csv");

randomFillSync(PART);
let crc = 0;
for (let part = 0; part < PARTS; part += 1) {
  crc = crc32(PART, crc);
}
const size = PART.length * PARTS;

function record(signature, sizes, more) {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(8, 2); // The sizes follow the data.
  if (sizes) {
    fields.writeUInt32LE(crc, 10);
    fields.writeUInt32LE(size, 14);
    fields.writeUInt32LE(size, 18);
  }
  fields.writeUInt16LE(NAME.length, 22);
  return Buffer.concat([Buffer.from(signature, "hex"), fields, Buffer.alloc(more), NAME]);
}

const local = record("504b0304", false, 0);
const descriptor = Buffer.alloc(16);
descriptor.write("504b0708", "hex");
descriptor.writeUInt32LE(crc, 4);
descriptor.writeUInt32LE(size, 8);
descriptor.writeUInt32LE(size, 12);
// The central record has "version made by" in front of the fields that both records share.
const central = Buffer.concat([Buffer.from("504b01021400", "hex"), record("504b0304", true, 14).subarray(4)]);
const end = Buffer.alloc(22);
end.write("504b0506", "hex");
end.writeUInt16LE(1, 8);
end.writeUInt16LE(1, 10);
end.writeUInt32LE(central.length, 12);
end.writeUInt32LE(local.length + size + descriptor.length, 16);
const tail = Buffer.concat([descriptor, central, end]);

/** The size of the whole archive in bytes. */
export const SIZE = local.length + size + tail.length;

/**
 * Give the archive as the messages of an export.
 *
 * @returns messages `google.api.HttpBody`
 */
export function* parts() {
  const contentType = "application/zip";
  yield { contentType, data: local };
  for (let part = 0; part < PARTS; part += 1) {
    yield { contentType, data: PART };
  }
  yield { contentType, data: tail };
}
