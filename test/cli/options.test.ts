import { expect, it } from "@jest/globals";
import { sharedOptions, wholeProgram } from "../../site/reference/command.js";
import { run } from "../support/command.js";

const options = sharedOptions(await wholeProgram());
const longOf = (flags: string) => flags.replace(/^-., /, "");

it("an option has one meaning, one kind of value, and one way to take several, in all commands", () => {
  const byShort = new Map<string, string>();
  const names = options.map(({ flags }) => longOf(flags));
  const several = options.filter(({ flags }) => names.filter((name) => name === longOf(flags)).length > 1);
  // A sync saves to a target, which may be a database; both say where to save.
  expect(several.map(({ flags, value, meaning }) => [flags, value, meaning])).toEqual([
    ["--to", "<path>", "where to save"],
    ["--to", "<target>", "where to save"],
  ]);
  for (const { flags } of options.filter((option) => option.flags.includes(", "))) {
    const [short = "", long = ""] = flags.split(", ");
    expect(byShort.get(short) ?? long).toBe(long);
    byShort.set(short, long);
  }
  expect(Object.fromEntries(byShort)).toMatchObject({
    "-n": "--limit",
    "-q": "--quiet",
    "-w": "--watch",
    "-f": "--follow",
    "-o": "--output",
  });
});

it("times, durations, heights and lists have the same form in all commands", () => {
  const forms = new Map(options.map(({ flags, value, repeats }) => [longOf(flags), `${value}${repeats}`]));
  expect(Object.fromEntries(forms)).toMatchObject({
    ...{ "--since": "<time>", "--until": "<time>", "--from-block": "<height>", "--to-block": "<height>" },
    ...{
      "--interval": "<duration>",
      "--timeout": "<duration>",
      "--call-timeout": "<duration>",
      "--wait": "[duration]",
    },
    ...{ "--block-time": "<duration>", "--table": "<name>list", "--market": "<market>list", "--columns": "<name>list" },
    ...{ "--http": "<host:port>", "--socket": "<path>", "--set": "<path=value>values" },
  });
});

it.each([
  [["schema", "--table", "trades,orders", "-o", "jsonl"]],
  [["schema", "--table", "trades", "--table", "orders", "-o", "jsonl"]],
])("a list has commas or several options: %j", async (args) => {
  const rows = (await run(args)).out.trimEnd().split("\n");
  expect(new Set(rows.map((row) => JSON.parse(row).table))).toEqual(new Set(["trades", "orders"]));
});

it.each([
  [["schema", "--table", "trades,"], '--table must be one or more values, separated by commas (got "trades,")'],
  [["follow", "--table", "trades,orders"], '--table must have one value in this command (got "trades,orders")'],
  [
    ["follow", "--table", "trades", "--table", "orders"],
    '--table must have one value in this command (got "orders" as well)',
  ],
])("says what is wrong with a list: %j", async (args, said) => {
  expect(await run(args)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(said) });
});
