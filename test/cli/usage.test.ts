import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { serveTcp } from "../support/node.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
});
afterAll(() => node.close());

it.each([
  [["exprot"], /^tradewire: unknown command 'exprot'\nDid you mean export\? Try `tradewire --help`\.\n$/],
  [["marktes"], /'marktes'\nDid you mean markets\? /],
  [["exports"], /\nDid you mean export\? /],
  [["import"], /^tradewire: unknown command 'import'\nTry `tradewire --help`\.\n$/],
  [["frobnicate"], /^tradewire: unknown command 'frobnicate'\nTry `tradewire --help`\.\n$/],
  [["kyz"], /^tradewire: unknown command 'kyz'\nTry `tradewire --help`\.\n$/],
  [["toString"], /\nTry `tradewire --help`\.\n$/],
  [
    ["--limit", "markets"],
    /^tradewire: unknown option '--limit'\nOptions follow the command: `tradewire COMMAND --limit`\.\n$/,
  ],
  [["markets", "--jsno"], /\nDid you mean --json\? /],
  [["markets", "--url", "x"], /\nDid you mean --grpc-url\? /],
  [["markets", "--token=x"], /^tradewire: unknown option '--token'\nTokens go into `headers` of a configuration file/],
  [["segments", "--since", "x"], /^tradewire: unknown option '--since'\nTry /],
  [
    ["positions", "M0"],
    /^tradewire: unexpected argument 'M0'\nTo filter, use --market M0 or --party M0\. Try `tradewire positions --help`\.\n$/,
  ],
  [
    ["stop-orders", "M0"],
    /^tradewire: "M0" is no ID of a stop order: an ID is hex digits\nDid you mean `tradewire stop-orders --market M0`\?\n$/,
  ],
  [["orders", "abcd", "list"], /^tradewire: "list" is no ID of an order: .*\nTo list all, run `tradewire orders`\.\n$/],
  [["trades", "id,price"], /\nDid you mean `tradewire trades --columns id,price`\?\n$/],
  [["sync", "status", "h.duckdb"], /\nDid you mean --to duckdb:h\.duckdb\? Try /],
  [["sync", "status", "trades"], /\nTo filter, use --table trades\. Try /],
  [["follow", "trades"], /^tradewire: missing --table <name>\nDid you mean --table trades\? Try /],
  [["export", "trades", "--from-block", "1"], /missing --table <name>\nDid you mean --table trades\? Try /],
  [
    ["orders", "--status", "foo"],
    /^tradewire: --status must be one of UNSPECIFIED, ACTIVE, [A-Z_, ]+ \(got "foo"\)\n$/,
  ],
  [["orders", "--status", "filed"], /\(got "filed"\)\nDid you mean FILLED\?\n$/],
  [
    ["call", "ListAssets", "--out", "a.json"],
    /^tradewire: unknown option '--out'\nTo save the output, redirect it: `> FILE`\.\n$/,
  ],
  [["call", "ListAssets", "--to", "m.json"], /, not with bytes\nRemove --to: .* redirect it: `> m\.json`\.\n$/],
  [["call", "ListAssets", "-o", "m.json"], /\nDid you mean > m\.json\? Allowed choices are json, jsonl\.\n$/],
  [["export", "--file", "x.zip"], /^tradewire: unknown option '--file'\nDid you mean --to\?/],
  [
    ["orders", "--grpc-url", "127.0.0.1:3007"],
    /--grpc-url must be a URL such as http:\/\/127\.0\.0\.1:3007 \(got "127/,
  ],
  [["orders", "--grpc-url", "localhost:1"], /--grpc-url must be a URL such as http:\/\/localhost:1 \(got /],
  [["orders", "--grpc-url", "grpc://h:1"], /--grpc-url must be a URL such as http:\/\/h:1 \(got /],
  [
    ["orders", "-v"],
    /^tradewire: unknown option '-v'\nFor the version, use -V or --version; for a log of all calls, --verbose\.\n$/,
  ],
  [["submit", "order.json", "sync"], /\nTry `tradewire submit --help`\.\n$/],
  [["events", "order"], /\nTo filter, use --type order or --party order or --market order\. /],
  [["status", "x"], /^tradewire: unexpected argument 'x'\nTry `tradewire status --help`\.\n$/],
  [["segments", "a"], /^tradewire: unexpected argument 'a'\nTry /],
  [["help", "exprot"], /^tradewire: unknown command 'exprot'\nDid you mean export\? Try `tradewire --help`\.\n$/],
  [["exprot", "--help"], /^tradewire: unknown command 'exprot'\n/],
  [["keys", "help", "nwe"], /^tradewire: unknown command 'nwe'\nDid you mean new\?/],
  [["help", "sync", "statsu"], /^tradewire: unknown command 'statsu'\nDid you mean status\? Try `tradewire sync /],
  [
    ["orders", "--market", "--grpc-url", "x"],
    /^tradewire: --market needs a value \(got the option --grpc-url\)\nWrite --market <market,...>\. Try `tradewire orders --help`\.\n$/,
  ],
  [["orders", "--limit", "--json=x"], /^tradewire: --limit needs a value \(got the option --json\)\n/],
  [["orders", "--market", "-o", "table"], /^tradewire: --market needs a value \(got the option -o\)\n/],
  [["orders", "--limit", "-1"], /^tradewire: --limit must be a positive whole number \(got "-1"\)\n/],
  [["sync", "statsu"], /^tradewire: unknown command 'statsu'\nDid you mean status\? /],
  [
    ["follow", "--table", "trades", "--interval", "0"],
    /^tradewire: --interval must be a duration from 1ms to 596h \(got "0"\)\n$/,
  ],
  [
    ["params", "--grpc-url", "http://127.0.0.1:1", "--rest-url", "http://127.0.0.1:2"],
    /^tradewire: the connection was refused \(http:\/\/127\.0\.0\.1:2; previously over grpc: .*http:\/\/127\.0\.0\.1:1\)\nCheck that the server is running, that the URL is correct, and that the network works\. http:\/\/127\.0\.0\.1:1 is set by --grpc-url\. http:\/\/127\.0\.0\.1:2 is set by --rest-url\. `tradewire devnode` starts a local node\.\n$/,
  ],
])("says what is wrong with %j, and what to do", async (args, said) => {
  const { out, err } = await run(args);
  expect(out).toBe("");
  expect(err).toMatch(said);
});

it.each([["events"], ["sync"], ["sync worker"], ["signer"], ["follow"]])(
  "%s refuses --json, and names -o jsonl",
  async (name) => {
    const { code, out, err } = await run([...name.split(" "), "--json"]);
    expect(code).toBe(2);
    const { message, advice } =
      out === "" ? { message: err.split("\n")[0], advice: err.split("\n")[1] } : JSON.parse(out).error;
    expect([message, advice]).toEqual([
      expect.stringContaining("unknown option '--json'"),
      `Use -o jsonl: \`tradewire ${name}\` prints one JSON object per line as it goes, not one document.`,
    ]);
  },
);

it.each([
  [["segments", "--json", "--nosuch"], "unknown option '--nosuch'"],
  [["export", "--json"], "missing --table <name>"],
  [["call", "--json"], "missing required argument 'method'"],
])("says what is wrong with %j as JSON, too", async (args, message) => {
  const { code, out, err } = await run(args);
  expect({ code, err, error: JSON.parse(out).error }).toMatchObject({
    code: 2,
    err: "",
    error: {
      name: "RequestError",
      message,
      advice: expect.stringContaining("Try `tradewire"),
      errorCode: "TW_USAGE",
    },
  });
});

it("says which server answers for a node", async () => {
  const ask = (url: string) => run(["params", "--transport", "rest", "--rest-url", url]);
  expect((await ask(`${node.restUrl}/wrong`)).err).toMatch(/NOT_FOUND: Not Found\nCheck the URL and its path: /);
  expect((await ask(node.restUrl.replace("http:", "https:"))).err).toMatch(
    /^tradewire: the server does not speak TLS \(.*\)\nUse an http: URL, /,
  );
});

it.each([["params"], ["orders"], ["status"], ["segments"]])("%s ends when its --timeout is up", async (command) => {
  await using silent = await serveTcp(() => undefined);
  const args = [command, "--timeout", "200ms", "--transport", "rest", "--rest-url", silent.url];
  const said = "the command did not end within 200 ms";
  const advice = "Use a longer --timeout, or check the node with `tradewire status`.";
  expect(await run(args)).toEqual({ code: 1, out: "", err: `tradewire: ${said}\n${advice}\n` });
  const inJson = await run([...args, "--json"]);
  expect(inJson).toMatchObject({ code: 1, err: "" });
  expect(JSON.parse(inJson.out)).toMatchObject({ error: { code: "DEADLINE_EXCEEDED", message: said, advice } });
});

it("tells with --quiet the error alone, and with --verbose each call", async () => {
  const urls = ["--grpc-url", "http://127.0.0.1:1", "--rest-url", node.restUrl];
  const ask = (...more: string[]) => run(["params", "snapshot.interval.length", "--json", ...urls, ...more]);
  const [told, quiet, verbose] = await Promise.all([ask(), ask("--quiet"), ask("--verbose")]);
  expect(new Set([told.out, quiet.out, verbose.out]).size).toBe(1);
  expect(told.err).toMatch(/^tradewire: grpc: the connection was refused .*; falling back to rest\n$/);
  expect(quiet.err).toBe("");
  expect(verbose.err).toMatch(
    /GetNetworkParameter over .*\n(.*\n)*tradewire: call \d+ ended after \d+ ms: 1 message\n/,
  );
});

it("describes the subcommand help in the words of the other commands", async () => {
  const { out } = await run(["keys", "--help"]);
  expect(out).toMatch(/\n {2}help \[command\] +Show the help of a command\.\n/);
  expect((await run(["sync", "--help"])).out).not.toContain("display help");
});

it("prints the help of everyday commands without arguments, as with help and help help", async () => {
  const { out } = await run(["help"]);
  expect(out).toMatch(/^Usage: tradewire [\s\S]* most common commands/);
  expect(await run([])).toEqual({ code: 2, out: "", err: out });
  expect(await run(["help", "help"])).toEqual({ code: 0, out, err: "" });
});

it("names where the URL of a server with another protocol comes from", async () => {
  const { err } = await run(["params", "--transport", "rest", "--rest-url", node.grpcUrl]);
  expect(err).toContain("the server does not speak the protocol of this transport");
  expect(err).toContain(`${node.grpcUrl} is set by --rest-url.`);
});

it("breaks help into lines on a narrow terminal", async () => {
  const { out } = await run(["orders", "--help"], { terminal: { columns: 60, rows: 24 } });
  const [help = ""] = out.split("Examples:");
  expect(help.split("\n").filter((line) => line.length > 60)).toEqual([]);
});

it("prints the help of a subcommand, as with --help", async () => {
  const asked = await run(["help", "sync", "status"]);
  expect(asked.out).toMatch(/^Usage: tradewire sync status /);
  expect(asked).toEqual(await run(["sync", "status", "--help"]));
});
