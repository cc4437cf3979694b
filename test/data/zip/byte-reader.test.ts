import { describe, expect, it } from "@jest/globals";
import { CanceledError } from "tradewire";
import { createByteReader } from "../../../src/data/zip/byte-reader.js";
import { given } from "../../support/taken.js";

const pieces = (...texts: string[]) => texts.map((text) => Buffer.from(text));

/** A source that tells what was done to it. */
function watched(texts: readonly string[]) {
  const done: string[] = [];
  async function* source() {
    try {
      for (const text of texts) {
        done.push(text);
        yield Buffer.from(text);
      }
    } finally {
      done.push("closed");
    }
  }
  return { done, source: source() };
}

describe("a reader of bytes", () => {
  it("reads nothing before it is asked, and no more pieces than it needs", async () => {
    const { done, source } = watched(["abc", "def", "ghi"]);
    const reader = createByteReader(source);
    expect(done).toEqual([]);
    expect((await reader.peek(3)).toString()).toBe("abc");
    expect(done).toEqual(["abc"]);
    expect((await reader.peek(4)).toString()).toBe("abcdef");
    expect(done).toEqual(["abc", "def"]);
  });

  it("takes what was looked at, piece by piece, and counts from its first position", async () => {
    const reader = createByteReader(given(pieces("ab", "cd", "ef")), { position: 100 });
    await reader.peek(3);
    expect(reader.position).toBe(100);
    expect(reader.take(3).toString()).toBe("abc");
    expect(reader.position).toBe(103);
    expect((await reader.next())?.toString()).toBe("d");
    expect(reader.position).toBe(104);
    expect((await reader.next())?.toString()).toBe("ef");
    expect(reader.position).toBe(106);
    expect(await reader.next()).toBeUndefined();
    expect(reader.position).toBe(106);
  });

  it("counts from 0 unless told otherwise", async () => {
    const reader = createByteReader(given(pieces("ab")));
    expect(reader.position).toBe(0);
    await reader.next();
    expect(reader.position).toBe(2);
  });

  it("gives fewer bytes where the stream ends before", async () => {
    const reader = createByteReader(given(pieces("a", "b")));
    expect((await reader.peek(30)).toString()).toBe("ab");
    expect(reader.take(30).toString()).toBe("ab");
    expect(reader.position).toBe(2);
    expect((await reader.peek(1)).length).toBe(0);
  });

  it("passes over empty pieces", async () => {
    const reader = createByteReader(given(pieces("", "a", "", "", "b")));
    expect((await reader.next())?.toString()).toBe("a");
    expect((await reader.next())?.toString()).toBe("b");
    expect(await reader.next()).toBeUndefined();
  });

  it("reads the part of a larger buffer that a piece is", async () => {
    const within = Uint8Array.from(Buffer.from("--abc--")).subarray(2, 5);
    const reader = createByteReader(given([within]));
    expect((await reader.next())?.toString()).toBe("abc");
  });

  it("gives bytes back that were put back, before all others", async () => {
    const reader = createByteReader(given(pieces("abcd", "ef")), { position: 10 });
    await reader.next();
    reader.putBack(Buffer.from("cd"));
    expect(reader.position).toBe(12);
    reader.putBack(Buffer.from("b"));
    expect(reader.position).toBe(11);
    expect((await reader.peek(4)).toString()).toBe("bcdef");
    expect((await reader.next())?.toString()).toBe("bcdef");
    expect(reader.position).toBe(16);
  });

  it("does not copy a piece that stands alone", async () => {
    const piece = Buffer.alloc(4, "abcd");
    const reader = createByteReader(given([piece]));
    const seen = await reader.peek(2);
    expect([seen.buffer, seen.byteOffset]).toEqual([piece.buffer, piece.byteOffset]);
    expect(seen.buffer).toBe(piece.buffer);
    const bytes = await reader.next();
    expect(bytes?.buffer).toBe(piece.buffer);
    reader.putBack(piece);
    expect((await reader.peek(2)).buffer).toBe(piece.buffer);
  });

  it("throws the source's error whenever bytes behind it are asked for", async () => {
    const broken = new Error("broken");
    const reader = createByteReader(given(pieces("ab"), () => Promise.reject(broken)));
    await expect(reader.peek(3)).rejects.toBe(broken);
    expect((await reader.peek(2)).toString()).toBe("ab");
    await expect(reader.peek(3)).rejects.toBe(broken);
    expect((await reader.next())?.toString()).toBe("ab");
    await expect(reader.next()).rejects.toBe(broken);
    await expect(reader.next()).rejects.toBe(broken);
  });
});

describe("the closing of a reader of bytes", () => {
  it("ends the stream once, and tells so before", async () => {
    const { done, source } = watched(["abc", "def"]);
    const reader = createByteReader(source, { onClose: () => done.push("told") });
    await reader.peek(1);
    await reader.close();
    await reader.close();
    expect(done).toEqual(["abc", "told", "closed"]);
    reader.take(3);
    expect(await reader.next()).toBeUndefined();
  });

  it("needs nobody to tell", async () => {
    const { done, source } = watched(["abc"]);
    const reader = createByteReader(source);
    await reader.next();
    await reader.close();
    expect(done).toEqual(["abc", "closed"]);
  });

  it("tells nothing where the stream has ended or failed", async () => {
    const told: string[] = [];
    const ended = createByteReader(given(pieces("a")), { onClose: () => told.push("ended") });
    await ended.peek(2);
    await ended.close();
    const fail = () => Promise.reject(new Error("broken"));
    const failed = createByteReader(given(pieces("a"), fail), { onClose: () => told.push("failed") });
    await expect(failed.peek(2)).rejects.toThrow("broken");
    await failed.close();
    expect(told).toEqual([]);
  });

  it("tells a source that is silent where the signal was aborted", async () => {
    const told: string[] = [];
    const controller = new AbortController();
    const silent = given(pieces("a"), () => new Promise(() => undefined));
    const reader = createByteReader(silent, { signal: controller.signal, onClose: () => told.push("told") });
    await reader.peek(1);
    const peeking = reader.peek(2);
    controller.abort("enough");
    await expect(peeking).rejects.toBeInstanceOf(CanceledError);
    await expect(reader.next()).resolves.toEqual(Buffer.from("a"));
    await expect(reader.next()).rejects.toMatchObject({ cause: "enough" });
    await reader.close();
    expect(told).toEqual(["told"]);
  });
});
