import { expect, test } from "@jest/globals";
import { encodeCsv, RequestError } from "tradewire";
import { encoded } from "../../support/csv.js";

test("quotes what has to be quoted and nothing else", async () => {
  const rows = [
    [null, "", "a b", " x "],
    ["1,2", 'a"b', "\n", "\r"],
    ["'", "\\.", "\t", "é"],
  ];
  expect((await encoded({ columns: ["a", "b,c", "d", "\\."], rows })).toString()).toBe(
    'a,"b,c",d,\\.\n,"",a b, x \n"1,2","a""b","\n","\r"\n\',\\.,\t,é\n',
  );
  expect((await encoded({ columns: ["\\."], rows: [["\\."], [null], [""]] })).toString()).toBe('"\\."\n"\\."\n\n""\n');
  expect((await encoded({ columns: ["N"], rows: [["N"], [null], [""]] }, "N")).toString()).toBe('"N"\n"N"\nN\n\n');
});

test("streams: takes a row when its chunk is asked for", async () => {
  let taken = 0;
  async function* rows() {
    for (; taken < 1000; taken++) {
      yield ["x".repeat(1000)];
    }
  }
  const chunks = encodeCsv(["a"], rows());
  await chunks.next();
  expect(taken).toBeLessThan(100);
  await chunks.return();
});

test("refuses what cannot be written", async () => {
  for (const columns of [[], [""], ["a", ""], ["a", "b", "a"]]) {
    await expect(encoded({ columns, rows: [] })).rejects.toThrow("invalid columns");
  }
  await expect(encoded({ columns: ["a", "b"], rows: [["1", "2"], ["3"]] })).rejects.toThrow(
    "row 3 has 1 fields, but the header row has 2",
  );
  await expect(encoded({ columns: ["a"], rows: [["\ud800x"]] })).rejects.toThrow(
    "row 2 contains an unpaired surrogate,",
  );
  await expect(encoded({ columns: ["a\udc00"], rows: [] })).rejects.toThrow("row 1 contains an unpaired surrogate");
  await expect(encoded({ columns: ["a"], rows: [] }, ",")).rejects.toBeInstanceOf(RequestError);
});
