/**
 * The requirements of journals, as test cases for any test runner.
 *
 * @module tradewire/journal/contract
 */

import { deepEqual, equal } from "node:assert/strict";
import type { Journal } from "../journal.js";

/** The inputs of a test case. */
export interface JournalHost {
  /** Opens the journal of this case. Each call opens the same journal; dispose of the previous one first. */
  openJournal(): Promise<Journal>;
}

/** A test case. */
export interface JournalCase {
  readonly name: string;
  /** Runs the case. It throws an `AssertionError` if the journal does not meet the requirement. */
  run(host: JournalHost): Promise<void>;
}

const at = (position: number, isLast = false) => ({ position, isLast });

/** Runs a case with an open journal. */
const withJournal =
  (act: (journal: Journal) => Promise<void>): JournalCase["run"] =>
  async ({ openJournal }) => {
    await using journal = await openJournal();
    await act(journal);
  };

/**
 * The test cases that every journal must pass. Each case gets a new journal.
 *
 * @example
 * for (const { name, run } of journalContract) {
 *   test(name, async () => {
 *     const place = await newPlace();
 *     await run({ openJournal: () => openMyJournal(place) });
 *   });
 * }
 */
export const journalContract: readonly JournalCase[] = [
  {
    name: "a new journal is empty",
    run: withJournal(async (journal) => {
      deepEqual([...(await journal.read("a"))], []);
      deepEqual([...(await journal.open())], []);
    }),
  },
  {
    name: "entries are read in the order in which they were appended",
    run: withJournal(async (journal) => {
      for (const position of [0, 1, 2]) {
        equal(await journal.append("a", `entry ${position}`, at(position)), true);
        equal(await journal.append("b", `other ${position}`, at(position)), true);
      }
      deepEqual([...(await journal.read("a"))], ["entry 0", "entry 1", "entry 2"]);
    }),
  },
  {
    name: "an entry is appended only at the next position",
    run: withJournal(async (journal) => {
      equal(await journal.append("a", "second", at(1)), false);
      equal(await journal.append("a", "first", at(0)), true);
      equal(await journal.append("a", "another first", at(0)), false);
      equal(await journal.append("a", "third", at(2)), false);
      deepEqual([...(await journal.read("a"))], ["first"]);
    }),
  },
  {
    name: "only one of several entries at the same position is appended",
    run: withJournal(async (journal) => {
      const appended = await Promise.all(Array.from({ length: 8 }, (_, n) => journal.append("a", String(n), at(0))));
      equal(appended.filter((isAppended) => isAppended).length, 1);
      deepEqual([...(await journal.read("a"))], [String(appended.indexOf(true))]);
    }),
  },
  {
    name: "no entry can follow a last entry",
    run: withJournal(async (journal) => {
      equal(await journal.append("a", "first", at(0)), true);
      equal(await journal.append("a", "last", at(1, true)), true);
      equal(await journal.append("a", "more", at(2)), false);
      deepEqual([...(await journal.read("a"))], ["first", "last"]);
    }),
  },
  {
    name: "intents without a last entry are open, oldest first",
    run: withJournal(async (journal) => {
      for (const id of ["c", "a", "b"]) {
        await journal.append(id, "first", at(0));
      }
      await journal.append("a", "last", at(1, true));
      await journal.append("c", "second", at(1));
      deepEqual([...(await journal.open())], ["c", "b"]);
    }),
  },
  {
    name: "identifiers and entries are stored unchanged",
    async run({ openJournal }) {
      const ids = ["..", "a/b", "A", "a", 'quo"te', "naïve ☃ 🙂", " ", "x".repeat(200), "__proto__", "constructor"];
      const entry = `{"text":"\\\\ 'it''s' ${"ü".repeat(20_000)}"}`;
      {
        await using journal = await openJournal();
        for (const id of ids) {
          equal(await journal.append(id, `${id}${entry}`, at(0)), true, id);
        }
      }
      await using journal = await openJournal();
      for (const id of ids) {
        deepEqual([...(await journal.read(id))], [`${id}${entry}`]);
      }
      deepEqual([...(await journal.open())], ids);
    },
  },
  {
    name: "a reopened journal has all entries",
    async run({ openJournal }) {
      const first = await openJournal();
      await Promise.all(Array.from({ length: 50 }, (_, n) => first.append(`intent ${n}`, "first", at(0))));
      await first.append("intent 0", "last", at(1, true));
      await first.close();
      await first.close();
      await using journal = await openJournal();
      equal((await journal.open()).length, 49);
      equal(await journal.append("intent 0", "more", at(2)), false);
      equal(await journal.append("intent 1", "second", at(1)), true);
      deepEqual([...(await journal.read("intent 1"))], ["first", "second"]);
    },
  },
];
