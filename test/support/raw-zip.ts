import { crc32, deflateRawSync } from "node:zlib";

/** A file of an archive that is written field by field. Fields that are left out are correct. */
export interface RawEntry {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly stored?: boolean;
  /** The form of the data descriptor behind the data; none if it is left out. */
  readonly descriptor?: { readonly signed: boolean; readonly wide: boolean };
  /** Whether sizes are in ZIP64's extra field. */
  readonly zip64?: boolean;
  readonly flags?: number;
  readonly method?: number;
  /** Wrong values for the header, the descriptor or the directory. */
  readonly crc?: number;
  readonly localName?: string;
  readonly listed?: Partial<{ crc: number; size: number; compressedSize: number; offset: number; name: string }>;
  /** Whether the central directory lacks the file. */
  readonly unlisted?: boolean;
}

/** Write an archive field by field. */
export function rawZip(entries: readonly RawEntry[], { before = "", comment = "", between = "" } = {}): Buffer {
  const pieces: Buffer[] = [Buffer.from(before)];
  const central: Buffer[] = [];
  let offset = Buffer.byteLength(before);
  for (const entry of entries) {
    const content = Buffer.from(entry.content);
    const data = entry.stored === true ? content : deflateRawSync(content);
    const measured = { crc: entry.crc ?? crc32(content), size: content.length, compressedSize: data.length };
    const flags = (entry.flags ?? 0) | (entry.descriptor === undefined ? 0 : 8);
    const method = entry.method ?? (entry.stored === true ? 0 : 8);
    const none = { crc: 0, size: 0, compressedSize: 0 };
    const said = entry.descriptor === undefined ? measured : none;
    const name = Buffer.from(entry.localName ?? entry.name);
    const written = Buffer.concat([
      Buffer.from("504b0304", "hex"),
      fields(flags, method, said, entry.zip64 === true, name, 0),
      name,
      extra(said, entry.zip64 === true),
      data,
      entry.descriptor === undefined ? Buffer.alloc(0) : descriptor(measured, entry.descriptor),
      Buffer.from(between),
    ]);
    pieces.push(written);
    const listed = { ...measured, offset, name: entry.name, ...entry.listed };
    const listedName = Buffer.from(listed.name);
    if (entry.unlisted !== true) {
      const tail = Buffer.alloc(14);
      tail.writeUInt32LE(listed.offset, 10);
      central.push(
        Buffer.from("504b01021400", "hex"),
        fields(flags, method, listed, entry.zip64 === true, listedName, 0),
        tail,
        listedName,
        extra(listed, entry.zip64 === true),
      );
    }
    offset += written.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write("504b0506", "hex");
  const count = entries.filter(({ unlisted }) => unlisted !== true).length;
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...pieces, directory, end, Buffer.from(comment)]);
}

interface Said {
  readonly crc: number;
  readonly size: number;
  readonly compressedSize: number;
}

function fields(flags: number, method: number, said: Said, zip64: boolean, name: Buffer, more: number): Buffer {
  const bytes = Buffer.alloc(26);
  bytes.writeUInt16LE(20, 0);
  bytes.writeUInt16LE(flags, 2);
  bytes.writeUInt16LE(method, 4);
  bytes.writeUInt32LE(said.crc, 10);
  bytes.writeUInt32LE(zip64 ? 0xffffffff : said.compressedSize, 14);
  bytes.writeUInt32LE(zip64 ? 0xffffffff : said.size, 18);
  bytes.writeUInt16LE(name.length, 22);
  bytes.writeUInt16LE((zip64 ? 20 : 0) + more, 24);
  return bytes;
}

function extra(said: Said, zip64: boolean): Buffer {
  const bytes = Buffer.alloc(zip64 ? 20 : 0);
  if (zip64) {
    bytes.writeUInt16LE(1, 0);
    bytes.writeUInt16LE(16, 2);
    bytes.writeBigUInt64LE(BigInt(said.size), 4);
    bytes.writeBigUInt64LE(BigInt(said.compressedSize), 12);
  }
  return bytes;
}

function descriptor(said: Said, { signed, wide }: { signed: boolean; wide: boolean }): Buffer {
  const bytes = Buffer.alloc((signed ? 4 : 0) + 4 + (wide ? 16 : 8));
  let at = 0;
  if (signed) {
    bytes.write("504b0708", "hex");
    at = 4;
  }
  bytes.writeUInt32LE(said.crc, at);
  if (wide) {
    bytes.writeBigUInt64LE(BigInt(said.compressedSize), at + 4);
    bytes.writeBigUInt64LE(BigInt(said.size), at + 12);
  } else {
    bytes.writeUInt32LE(said.compressedSize, at + 4);
    bytes.writeUInt32LE(said.size, at + 8);
  }
  return bytes;
}
