import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";
import { createClient, csvRows, openArchive, readConfig, signerFromEnvironment, TradewireError } from "tradewire";
import ts from "typescript";
import { run } from "../support/command.js";
import { freePort } from "../support/free-port.mjs";

const REST = { url: "http://127.0.0.1:1" };
const client = () => createClient({ transport: "rest", rest: REST, retry: { tries: 1 } });

async function examples(): Promise<Record<string, { example: string }>> {
  return JSON.parse((await run(["explain", "--json"])).out);
}

/** The errors of calls that need no node. */
const CALLS: Readonly<Record<string, () => unknown>> = {
  TW_INVALID_ARGUMENT: () => client().stopOrders({}, { limit: 0 }),
  TW_CONFIGURATION: () => readConfig({ rest: REST, timeouts: { callMs: 0 } }),
  TW_BLOCK_RANGE: () => client().exportNetworkHistory({ table: "trades", fromBlock: 2000, toBlock: 1000 }),
  TW_INVALID_CURSOR: () => client().follow({ table: "trades" }, { cursor: "abc" }),
  TW_INSECURE_HEADER: () =>
    createClient({ transport: "rest", rest: { url: "http://node.example" } }).lastBlockHeight({
      headers: { authorization: "Bearer x" },
    }),
  TW_NO_KEY: () => signerFromEnvironment("TRADEWIRE_SEED"),
  TW_CANCELED: () => client().lastBlockHeight({ signal: AbortSignal.abort() }),
  TW_FILE_NOT_FOUND: () => openArchive("nosuch.zip").toZip(),
  async TW_INVALID_CSV() {
    const lines = ["a,b,price", ...Array.from({ length: 10 }, () => "1,2,3"), '1,2,"3"x', ""];
    for await (const _ of csvRows([Buffer.from(lines.join("\n"))], { name: "trades.csv" })) {
      // The twelfth line fails.
    }
  },
};

async function failureOf(call: () => unknown): Promise<TradewireError> {
  try {
    await call();
  } catch (reason) {
    if (reason instanceof TradewireError) {
      return reason;
    }
    throw reason;
  }
  throw new Error("the call did not fail");
}

it.each(Object.entries(CALLS))("the example of %s is what a call throws", async (code, call) => {
  const { errorCode, headline } = await failureOf(call);
  expect([errorCode, headline]).toEqual([code, (await examples())[code]?.example]);
});

it("the example of TW_UNREACHABLE is what a call throws", async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const { errorCode, summary } = await failureOf(() =>
    createClient({ transport: "rest", rest: { url }, retry: { tries: 1 } }).lastBlockHeight(),
  );
  const { example } = (await examples())["TW_UNREACHABLE"] ?? {};
  expect([errorCode, summary]).toEqual(["TW_UNREACHABLE", example?.replace("http://127.0.0.1:3007", url)]);
});

it("the example of TW_USAGE is what the command prints", async () => {
  const { err } = await run(["export", "--from-blok", "1"]);
  expect(err.split("\n")[0]).toBe(`tradewire: ${(await examples())["TW_USAGE"]?.example}`);
});

/** Texts of PostgreSQL, DuckDB and Node, which the library repeats. */
const FOREIGN = new Set([
  "TW_SINK_UNREACHABLE",
  "TW_SINK_CREDENTIALS",
  "TW_SINK_CONFLICT",
  "TW_SINK_FULL",
  "TW_FILE_FAILED",
]);

/** The texts of the sources, as patterns: what is filled in may be anything. */
function sourceTexts(): RegExp[] {
  const folder = fileURLToPath(new URL("../../src", import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => file.endsWith(".ts") && !file.endsWith("error-codes.ts"));
  return sources.flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(join(folder, file), "utf8"), ts.ScriptTarget.Latest);
    const texts: RegExp[] = [];
    const visit = (node: ts.Node) => {
      const parts = ts.isStringLiteralLike(node)
        ? [node.text]
        : ts.isTemplateExpression(node)
          ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)]
          : [];
      if (parts.some((part) => part.trim().length >= 8 && part.includes(" "))) {
        texts.push(new RegExp(parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".+")));
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    return texts;
  });
}

it("all other examples have texts of the sources", async () => {
  const texts = sourceTexts();
  const others = Object.entries(await examples()).filter(([code]) => !(code in CALLS) && !FOREIGN.has(code));
  const unknown = others.filter(([, { example }]) => !texts.some((text) => text.test(example)));
  expect(unknown.map(([code, { example }]) => `${code}: ${example}`)).toEqual([]);
});
