import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { type LoadConfigOptions, loadConfig } from "tradewire";
import { run } from "../../support/command.js";
import { freePort } from "../../support/free-port.mjs";

const TOKEN = "tok3n-never-to-be-seen";
const HEADERS = { authorization: `Bearer ${TOKEN}` };

const PEM = "-----BEGIN PRIVATE KEY-----\n";

let folder = "";
let project = "";
let own = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "tradewire-networks-")));
  project = join(folder, "project");
  own = join(folder, "xdg", "tradewire", "config.json");
  mkdirSync(project);
  mkdirSync(join(folder, "xdg", "tradewire"), { recursive: true });
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Writes the user's own file, as people write it, over several lines. */
function writeOwn(config: unknown, mode = 0o600): void {
  writeFileSync(own, JSON.stringify(config, undefined, 2));
  chmodSync(own, mode);
}

const writeFound = (config: unknown) => writeFileSync(join(project, "tradewire.config.json"), JSON.stringify(config));

const load = (environment: Record<string, string> = {}, options: LoadConfigOptions = {}) =>
  loadConfig({ directory: project, environment: { XDG_CONFIG_HOME: join(folder, "xdg"), ...environment }, ...options });

const tradewire = (args: readonly string[], environment: Record<string, string> = {}) =>
  run(args, { cwd: project, environment: { XDG_CONFIG_HOME: join(folder, "xdg"), ...environment } });

const networks = {
  main: { grpc: { url: "https://main.example", headers: HEADERS }, chainId: "main-1" },
  test: { rest: { url: "https://test.example" } },
};

describe("the user's own file", () => {
  it.each<[string, () => Record<string, string>]>([
    ["XDG_CONFIG_HOME", () => ({})],
    ["HOME", () => ({ XDG_CONFIG_HOME: "", HOME: join(folder, "home") })],
    ["HOME if XDG_CONFIG_HOME is relative", () => ({ XDG_CONFIG_HOME: "xdg", HOME: join(folder, "home") })],
  ])("is found by %s", (_, environment) => {
    if (environment()["HOME"] !== undefined) {
      own = join(folder, "home", ".config", "tradewire", "config.json");
      mkdirSync(join(own, ".."), { recursive: true });
    }
    writeOwn({ retry: { tries: 7 } });
    const { config, sources, files, found } = load(environment());
    expect(config.retry.tries).toBe(7);
    expect(sources.get("retry.tries")).toBe(own);
    expect(files).toEqual([{ path: own, kind: "own file" }]);
    expect(found.size).toBe(0);
  });

  it("is not read without a folder, or if a file is named", () => {
    writeOwn({ retry: { tries: 7 } });
    writeFileSync(join(project, "named.json"), '{"retry":{"maxMs":5}}');
    expect(load({ XDG_CONFIG_HOME: "" }).config.retry.tries).toBe(3);
    const named = load({}, { file: "named.json" });
    expect([named.config.retry.tries, named.config.retry.maxMs]).toEqual([3, 5]);
    expect(named.files).toEqual([{ path: join(project, "named.json"), kind: "named file" }]);
  });

  it("gives way to the project's file, key by key", () => {
    writeOwn({ retry: { tries: 7, maxMs: 70 } });
    writeFound({ retry: { maxMs: 80 } });
    const { config, sources, found, files } = load();
    expect(config.retry).toMatchObject({ tries: 7, maxMs: 80 });
    expect(sources.get("retry.maxMs")).toBe("tradewire.config.json");
    expect([...found]).toEqual(["retry.maxMs"]);
    expect(files.map(({ kind }) => kind)).toEqual(["own file", "found file"]);
  });

  it("uses the network that it names itself", () => {
    writeOwn({ use: "main", retry: { tries: 7 }, networks });
    const { config, sources, files, lineOf } = load();
    expect(config).toMatchObject({ transport: "grpc", chainId: "main-1", retry: { tries: 7 } });
    expect(sources.get("grpc.url")).toBe(`${own}, network main`);
    expect([lineOf("retry.tries"), lineOf("grpc.url"), lineOf("retry.baseMs")]).toEqual([4, 9, undefined]);
    expect(files).toEqual([{ path: own, kind: "own file", network: "main" }]);
  });

  it.each<[string, LoadConfigOptions, Record<string, string>]>([
    ["an option", { use: "test" }, {}],
    ["a variable", {}, { TRADEWIRE_USE: "test" }],
    ["an option, in place of a variable", { use: "test" }, { TRADEWIRE_USE: "main", TRADEWIRE_CONFIG: "none.json" }],
  ])("uses the network that %s names, and no file of the project", (_, options, environment) => {
    writeOwn({
      use: "main",
      rest: { url: "https://shared.example" },
      grpc: { url: "https://shared.example" },
      networks,
    });
    writeFound({ grpc: { url: "https://attacker.example" } });
    const { config, files } = load(environment, options);
    expect([config.rest?.url, config.grpc, config.chainId]).toEqual(["https://test.example", undefined, undefined]);
    expect(files).toEqual([{ path: own, kind: "own file", network: "test" }]);
  });

  it("never sends its token to the node of another source", () => {
    writeOwn({ use: "main", retry: { tries: 7 }, networks });
    const argument = { name: "--grpc-url", key: "grpc.url", value: "https://other.example" };
    const configs = [
      load({ TRADEWIRE_GRPC_URL: "https://other.example" }),
      load({}, { arguments: [argument] }),
      load({ TRADEWIRE_USE: "main" }, { arguments: [argument] }),
    ];
    writeFound({ grpc: { url: "https://other.example" } });
    for (const { config } of [...configs, load()]) {
      expect(config.grpc).toMatchObject({ url: "https://other.example" });
      expect([config.grpc?.headers, config.chainId, config.retry.tries]).toEqual([undefined, undefined, 7]);
    }
  });

  it("never sends its token where a found file leads without a URL", () => {
    writeOwn({ use: "main", networks });
    writeFound({ grpc: { tls: { caFile: "ca.pem" } } });
    expect(() => load()).toThrow(`grpc.headers is set by ${own}, network main, but grpc.tls.caFile is set by`);
  });

  it.each<[string, LoadConfigOptions, Record<string, string>, string]>([
    ["a file and a network", { use: "main", file: "a.json" }, {}, "file and use cannot be combined"],
    ["both variables", {}, { TRADEWIRE_USE: "main", TRADEWIRE_CONFIG: "a.json" }, "TRADEWIRE_CONFIG and TRADEWIRE_USE"],
    [
      "a network and a URL",
      { use: "main" },
      { TRADEWIRE_REST_URL: "https://other.example" },
      "the network main, selected by use, conflicts with rest.url, set by environment variable TRADEWIRE_REST_URL",
    ],
    ["a network that does not exist", { use: "mian" }, {}, `use: unknown network "mian" in `],
    ["the same by a variable", {}, { TRADEWIRE_USE: "mian" }, `TRADEWIRE_USE: unknown network "mian" in `],
  ])("is refused with %s", (_, options, environment, message) => {
    writeOwn({ networks });
    expect(() => load(environment, options)).toThrow(message);
  });

  it("says which networks there are, and how to write one", () => {
    expect(() => load({}, { use: "main" })).toThrow(
      `unknown network "main" in ${own}\nAdd it to that file: {"networks":{"main":{"grpc":{"url":"https://node.example"}}}}`,
    );
    expect(() => load({ XDG_CONFIG_HOME: "" }, { use: "main" })).toThrow("Set HOME or XDG_CONFIG_HOME");
    writeOwn({ networks });
    expect(() => load({}, { use: "mian" })).toThrow("Did you mean main? Valid names: main, test.");
    writeOwn({ use: "mian", networks });
    expect(() => load()).toThrow(`use in ${own}: unknown network "mian"`);
  });

  it.each<[unknown, string]>([
    [{ networks: [] }, "networks must be an object of networks by their names"],
    [{ use: 1 }, "use must be the name of a network"],
    [{ use: "a", networks: { a: 1 } }, "networks.a must be an object of keys"],
    [{ use: "a", networks: { a: { retry: { tries: 0 } } } }, "network a: retry.tries must be"],
    [{ use: "a", networks: { a: { networks: {} } } }, "network a: networks is not a known key"],
  ])("is refused if it is wrong: %j", (config, message) => {
    writeOwn(config);
    expect(() => load()).toThrow(message);
  });

  const onPosix = process.platform === "win32" ? it.skip : it;

  onPosix("is refused if others can change it", async () => {
    writeOwn({ networks }, 0o666);
    expect(() => load()).toThrow(`${JSON.stringify(own)} is not trusted: everyone can write to it (mode 666)`);
    expect(await tradewire(["config", "--use", "main"])).toMatchObject({ code: 2, out: "" });
  });

  onPosix.each<[string, unknown]>([
    ["a token", { networks }],
    ["a private key", { rest: { url: "https://a.example", tls: { key: PEM, cert: PEM } } }],
    ["a proxy's password", { proxy: "http://user:password@proxy.example:3128" }],
  ])("warns of %s that others can read", async (_, config) => {
    writeOwn(config, 0o644);
    expect(load().files[0]?.warning).toBe("it contains secrets, and everyone can read it (mode 644)");
    for (const args of [["config"], ["config", "--quiet"]]) {
      const { code, err } = await tradewire(args);
      expect([code, err]).toEqual([
        0,
        `tradewire: ${own}: it contains secrets, and everyone can read it (mode 644). Make it private: chmod 600\n`,
      ]);
    }
    writeOwn(config, 0o600);
    expect((await tradewire(["config"])).err).toBe("");
  });

  onPosix("needs no protection from readers without secrets", () => {
    writeOwn({ networks: { test: networks.test } }, 0o644);
    expect(load().files).toEqual([{ path: own, kind: "own file" }]);
  });
});

describe("a command", () => {
  it("uses a network by name, and shows where each value comes from", async () => {
    writeOwn({ networks });
    const { code, out } = await tradewire(["config", "--use", "main", "-o", "table"]);
    expect(code).toBe(0);
    const rows = out.split("\n").map((line) => line.split(/ {2,}/));
    expect(rows).toContainEqual(["grpc.url", "https://main.example", `${own}, network main, line 5`]);
    expect(rows).toContainEqual(["grpc.headers", "authorization: ***", `${own}, network main, line 6`]);
    const wrong = await tradewire(["config", "--use", "mian"]);
    expect(wrong).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^tradewire: --use: unknown network "mian"/),
    });
    expect((await tradewire(["config", "--use", "main", "--config", "a.json"])).err).toMatch(
      /^tradewire: --config and --use cannot be combined\n/,
    );
  });

  it("says that it tried the defaults, and how to start or name a node", async () => {
    // A local node may run on the default ports of this machine.
    const connect = jest.spyOn(Socket.prototype, "connect").mockImplementation(function (this: Socket) {
      return this.destroy(Object.assign(new Error("refused"), { code: "ECONNREFUSED", syscall: "connect" }));
    });
    const { code, err } = await tradewire(["markets"]).finally(() => connect.mockRestore());
    expect(code).toBe(1);
    expect(err).toContain(
      "No node is configured, so the default was used (http://127.0.0.1:3007 and http://127.0.0.1:3008). Start a local node " +
        `with \`tradewire devnode\`, or set your node's URL with --grpc-url, --rest-url or in ${own}.\n`,
    );
  });

  it("says where the URL of a node that it cannot reach comes from", async () => {
    const nothing = await freePort();
    const url = `http://127.0.0.1:${nothing}`;
    writeOwn({ networks: { down: { grpc: { url }, retry: { tries: 1 } } } });
    const byNetwork = await tradewire(["markets", "--use", "down"]);
    expect(byNetwork.err).toContain(
      `${url} is set by ${own}, network down, line 5. To use another network, set --use. \`tradewire devnode\` starts a local node.\n`,
    );
    const byVariable = await tradewire(["markets"], { TRADEWIRE_GRPC_URL: url, TRADEWIRE_RETRY_TRIES: "1" });
    expect(byVariable.err).toContain(
      `${url} is set by environment variable TRADEWIRE_GRPC_URL. To use another node, set --grpc-url or --rest-url. \`tradewire devnode\` starts a local node.\n`,
    );
    const asJson = await tradewire(["markets", "--json", "--grpc-url", url], { TRADEWIRE_RETRY_TRIES: "1" });
    expect(JSON.parse(asJson.out)).toMatchObject({
      error: { advice: expect.stringContaining(`${url} is set by --grpc-url.`) },
    });
  });
});
