import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "@jest/globals";

/**
 * How many test files take anything from inside `src/`, which is for those whose subject is an algorithm: parsers, codecs,
 * the order book, plans. Lower this number when a file leaves them; never raise it.
 */
const INNER = 162;

/** The other files that import modules of `src/`, by what they need of it. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  "the types of the built module that is loaded": ["support/command.ts"],
  "a gateway before services whose answers tests write": ["support/node.ts", "support/limited-node.ts"],
  "the runtime that tests replace, in the sources as in the package": ["support/virtual-runtime.ts"],
  "rules of methods, for tests of what reads and writes them": ["support/shapes.ts", "support/any-message.ts"],
  "what examples in comments of inner modules take for granted": ["docs/given-to-comments.ts"],
  "a program that a test starts": ["base/file/lock-program.ts", "sync/queue/permits-process.ts"],
  "a tool of its own, not a test": ["external/conformance/tradewire.ts", "external/gateway/grpc-gateway.check.ts"],
};

const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((name) => /\.(ts|mjs)$/.test(name));

/** The modules that a file imports, from the root of the repository, without their endings. */
function imported(file: string): string[] {
  const text = readFileSync(posix.join("test", file), "utf8");
  const found = text.matchAll(/(?:from|import\() ?"(\.[^"]+)\.js"/g);
  return [...found].map(([, path = ""]) => posix.join("test", posix.dirname(file), path));
}

/** What tests of a folder take from inside `src/`, beside the modules that they are about, is in its `inside.ts`. */
const isDoor = (path: string) => /\/inside(\.ts)?$/.test(path);

/** The module that a test is about: `test/data/zip/end-writers.full.test.ts` is about `src/data/zip/end-writers.ts`. */
function subjects(file: string): string[] {
  const own = posix.join("src", file.replace(/(\.[\w-]+)*\.ts$/, ""));
  return file.endsWith(".test.ts") ? [own, `${own}/index`] : [];
}

const inner = (file: string) => imported(file).filter((path) => path.startsWith("src/"));

test("a test imports of src/ the module that it is about, and other modules through its folder's inside.ts", () => {
  const allowed = Object.values(OTHERS).flat();
  const wrong = files
    .filter((file) => !isDoor(file) && !allowed.includes(file))
    .flatMap((file) => inner(file).flatMap((path) => (subjects(file).includes(path) ? [] : [`${file}: ${path}`])));
  expect(wrong).toEqual([]);
  expect(allowed.filter((file) => inner(file).length === 0)).toEqual([]);
});

test("what an inside.ts gives is taken", () => {
  const taken = files.flatMap((file) =>
    [...readFileSync(posix.join("test", file), "utf8").matchAll(/\{([^}]*)\} from "(\.[^"]*\/inside)\.js"/g)].flatMap(
      ([, names = "", path = ""]) => {
        const door = posix.join(posix.dirname(file), path);
        return names.split(",").map((name) => `${door}: ${name.replace(/\btype\b/, "").trim()}`);
      },
    ),
  );
  const given = files
    .filter(isDoor)
    .flatMap((file) =>
      [...readFileSync(posix.join("test", file), "utf8").matchAll(/\{([^}]*)\}/g)].flatMap(([, names = ""]) =>
        names.split(",").map((name) => `${file.replace(/\.ts$/, "")}: ${name.replace(/\btype\b/, "").trim()}`),
      ),
    );
  expect(given.filter((name) => !name.endsWith(": ") && !taken.includes(name))).toEqual([]);
});

test("no more tests than before enter from the inside", () => {
  const tests = files.filter((file) => file.endsWith(".test.ts"));
  const entering = tests.filter((file) => imported(file).some((path) => path.startsWith("src/") || isDoor(path)));
  expect(entering.length).toBe(INNER);
});
