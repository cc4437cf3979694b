import { expect, it } from "@jest/globals";
import { csvZip } from "../../support/archives.js";
import { createArchiveEnd } from "./inside.js";

/** Count the bytes that are copied while a function runs, by each way that Node has. */
function copiedBy(run: () => void): number {
  const { concat } = Buffer;
  const { copy } = Buffer.prototype;
  const { set } = Uint8Array.prototype;
  let copied = 0;
  try {
    Buffer.concat = (list, length) => {
      const joined = concat(list, length);
      copied += joined.length;
      return joined;
    };
    Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<typeof copy>) {
      const count = copy.apply(this, args);
      copied += count;
      return count;
    };
    Uint8Array.prototype.set = function (this: Uint8Array, from, at) {
      copied += from.length;
      set.call(this, from, at);
    };
    run();
  } finally {
    Buffer.concat = concat;
    Buffer.prototype.copy = copy;
    Uint8Array.prototype.set = set;
  }
  return copied;
}

it("the end of an archive is found without a copy of what came before for each piece", async () => {
  const archive = await csvZip(20_000);
  const bytes = Buffer.concat([archive, Buffer.from("{}")]);
  const end = createArchiveEnd();
  let own = 0;
  const copied = copiedBy(() => {
    // Before the end, as many pieces as a large export in bytes would have.
    const before = createArchiveEnd();
    for (let at = 0; at < 200_000; at += 1) {
      before.push(Uint8Array.of(at & 0xff));
    }
    for (const byte of bytes) {
      own += end.push(Uint8Array.of(byte)).length;
    }
  });
  expect(copied).toBeGreaterThan(0);
  expect(copied / (200_000 + bytes.length)).toBeLessThan(10);
  end.finish();
  expect([own, end.trailingSize]).toEqual([archive.length, 2]);
});
