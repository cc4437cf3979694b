import { expect, it } from "@jest/globals";
import { sentPages } from "../../../src/data/listing/sent-pages.js";
import { usedMemory } from "../../support/memory.js";

it("a listing keeps no cursor, however long the node makes them", async () => {
  const cursorBytes = 64 * 1024;
  const cursor = (page: number) => `${page} `.padEnd(cursorBytes, "x");
  let count = 0;
  const source = {
    by: "cursors",
    server: "node",
    async fetchPage() {
      count += 1;
      const endCursor = Buffer.from(cursor(count)).toString();
      return { edges: [{ cursor: String(count), node: {} }], pageInfo: { hasNextPage: true, endCursor } };
    },
    idOf: ({ cursor }: { readonly cursor: string }) => cursor,
  } as const;
  const pages = sentPages(source, { limit: 1000 })[Symbol.asyncIterator]();
  await pages.next();
  const before = usedMemory();
  while (count < 1000) {
    await pages.next();
  }
  // Kept cursors would take 1,000 of these; what a loaded machine has not collected yet stays far below half of that.
  expect(usedMemory() - before).toBeLessThan(400 * cursorBytes);
  expect(await pages.next()).toMatchObject({ done: false });
});
