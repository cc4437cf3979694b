import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { createWriteGate } from "./inside.js";

it("lets many in that share, or one alone, in the order in which they came, whatever fails", async () => {
  const task = fc.record({ isAlone: fc.boolean(), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(task, { minLength: 1, maxLength: 12 }), async (scheduler, tasks) => {
      const gate = createWriteGate();
      const inside = new Set<number>();
      const entered: number[] = [];
      const outcomes = tasks.map(({ isAlone, fails }, index) => {
        const work = async () => {
          const others = [...inside];
          inside.add(index);
          entered.push(index);
          expect(isAlone ? others : others.filter((other) => tasks[other]?.isAlone)).toEqual([]);
          await scheduler.schedule(Promise.resolve());
          inside.delete(index);
          if (fails) {
            throw new Error(String(index));
          }
          return index;
        };
        return isAlone ? gate.alone(work) : gate.share(work);
      });
      const settled = Promise.allSettled(outcomes);
      await scheduler.waitFor(settled);
      expect((await settled).map((each) => (each.status === "fulfilled" ? each.value : each.reason.message))).toEqual(
        tasks.map(({ fails }, index) => (fails ? String(index) : index)),
      );
      expect(entered.filter((index) => tasks[index]?.isAlone)).toEqual(
        tasks.flatMap(({ isAlone }, index) => (isAlone ? [index] : [])),
      );
    }),
  );
});

it("lets those in together that share", async () => {
  const gate = createWriteGate();
  const both: (() => void)[] = [];
  const meet = () =>
    new Promise<void>((resolve) => {
      both.push(resolve);
      if (both.length === 2) {
        for (const end of both) {
          end();
        }
      }
    });
  await Promise.all([gate.share(meet), gate.share(meet)]);
});
