// Archives of any size that cost their server nothing: one block of CSV rows, repeated. Deflated, the block is one that
// refers to nothing before it, so that its bytes can be repeated, too.
import { constants, crc32, deflateRawSync } from "node:zlib";
import { CHAIN, csvOf } from "../trades.mjs";

const BLOCK_BYTES = 4 * 1024 * 1024;
const NAME = Buffer.from(`${CHAIN}-trades-1-1000.csv`);
const LARGE = 2 ** 32 - 1;

/**
 * Make an archive with one file of trades, as Go's archive/zip writes it: the sizes follow the data, and ZIP64 is used
 * where they need it.
 */
export function createArchive({ method, csvBytes }) {
  const [header, rows] = content(Math.min(csvBytes, BLOCK_BYTES));
  const times = Math.max(1, Math.round(csvBytes / rows.length));
  const pack = (bytes) =>
    method === "stored" ? bytes : deflateRawSync(bytes, { finishFlush: constants.Z_FULL_FLUSH, level: 6 });
  const [packedHeader, block] = [header, rows].map(pack);
  const last = method === "stored" ? Buffer.alloc(0) : Buffer.from([3, 0]);
  let crc = crc32(header);
  for (let time = 0; time < times; time += 1) {
    crc = crc32(rows, crc);
  }
  const file = {
    method: method === "stored" ? 0 : 8,
    crc,
    size: header.length + times * rows.length,
    packed: packedHeader.length + times * block.length + last.length,
  };
  const local = Buffer.concat([Buffer.from("504b0304", "hex"), fields({ ...file, crc: 0, size: 0, packed: 0 }), NAME]);
  const head = Buffer.concat([local, packedHeader]);
  const tail = Buffer.concat([last, descriptor(file), directory(file, local.length)]);
  const bytes = head.length + times * block.length + tail.length;
  const lines = rows.toString("latin1").split("\n").length - 1;
  return { head, block, times, tail, bytes, csvBytes: file.size, rows: times * lines };
}

/** The header line, and whole rows of not more than some bytes. */
function content(most) {
  const [header, ...pieces] = csvOf(0, most / 1e6);
  const rows = Buffer.concat(pieces).subarray(0, most);
  return [header, rows.subarray(0, rows.lastIndexOf("\n") + 1)];
}

/** The fields that local and central records share, from "version needed" on. */
function fields({ method, crc, size, packed, extra = 0 }) {
  const bytes = Buffer.alloc(26);
  bytes.writeUInt16LE(packed >= LARGE || size >= LARGE ? 45 : 20, 0);
  bytes.writeUInt16LE(8, 2); // The sizes follow the data.
  bytes.writeUInt16LE(method, 4);
  bytes.writeUInt32LE(crc, 10);
  bytes.writeUInt32LE(Math.min(packed, LARGE), 14);
  bytes.writeUInt32LE(Math.min(size, LARGE), 18);
  bytes.writeUInt16LE(NAME.length, 22);
  bytes.writeUInt16LE(extra, 24);
  return bytes;
}

function isLarge({ size, packed }) {
  return size >= LARGE || packed >= LARGE;
}

function descriptor(file) {
  const start = Buffer.alloc(8);
  start.write("504b0708", "hex");
  start.writeUInt32LE(file.crc, 4);
  return Buffer.concat([start, numbers(isLarge(file) ? 8 : 4, file.packed, file.size)]);
}

/** The central directory, and the records of its end. */
function directory(file, localBytes) {
  const large = isLarge(file);
  const extra = large ? Buffer.concat([numbers(2, 1, 24), numbers(8, file.size, file.packed, 0)]) : Buffer.alloc(0);
  const offset = localBytes + file.packed + descriptor(file).length;
  const shown = large ? { ...file, size: LARGE, packed: LARGE } : file;
  const central = Buffer.concat([
    Buffer.from("504b01021403", "hex"),
    fields({ ...shown, extra: extra.length }),
    Buffer.alloc(10),
    numbers(4, large ? LARGE : 0),
    NAME,
    extra,
  ]);
  const zip64 = Buffer.concat([
    Buffer.from("504b0606", "hex"),
    numbers(8, 44),
    numbers(2, 45, 45),
    numbers(4, 0, 0),
    numbers(8, 1, 1, central.length, offset),
    Buffer.from("504b0607", "hex"),
    numbers(4, 0),
    numbers(8, offset + central.length),
    numbers(4, 1),
  ]);
  const end = Buffer.concat([
    Buffer.from("504b0506", "hex"),
    numbers(2, 0, 0, 1, 1),
    numbers(4, central.length, Math.min(offset, LARGE)),
    numbers(2, 0),
  ]);
  return Buffer.concat([central, ...(large ? [zip64] : []), end]);
}

function numbers(width, ...values) {
  const bytes = Buffer.alloc(width * values.length);
  values.forEach((value, index) => {
    if (width === 8) {
      bytes.writeBigUInt64LE(BigInt(value), index * width);
    } else {
      bytes.writeUIntLE(value, index * width, width);
    }
  });
  return bytes;
}
