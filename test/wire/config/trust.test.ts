import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { loadConfig } from "tradewire";
import { run } from "../../support/command.js";
import { seed } from "../../support/transactions.js";

/**
 * The rules of OpenSSH's StrictModes (misc.c, `safe_path`) for the file and its folder, with the exception that Debian
 * makes for private groups (user-group-modes.patch). Only root can give files to other users.
 */
const asRoot = process.geteuid?.() === 0 ? describe : describe.skip;
const FILE = "tradewire.config.json";
const OTHER = 54_321;
const HEADERS = '{"authorization":"Bearer t0ken"}';

let folder = "";
let project = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-trust-"));
  chmodSync(folder, 0o755);
});
beforeEach(() => {
  project = mkdtempSync(join(folder, "project-"));
  chmodSync(project, 0o755);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function write(config: unknown): string {
  const path = join(project, FILE);
  writeFileSync(path, JSON.stringify(config), { mode: 0o644 });
  return path;
}

const load = (environment: Record<string, string> = {}, more = {}) =>
  loadConfig({ directory: project, environment, ...more });

/** As {@link load}, by another user: only root can become one. */
function loadAs(user: number) {
  process.seteuid?.(user);
  try {
    return load();
  } finally {
    process.seteuid?.(0);
  }
}

const tradewire = (args: readonly string[], environment: Record<string, string> = {}) =>
  run(args, { cwd: project, environment });

asRoot("a configuration file that was found", () => {
  it.each<[string, (path: string) => void, RegExp]>([
    ["another user owns", (path) => chownSync(path, OTHER, OTHER), /another user \(uid 54321\) owns it/],
    ["everyone can write", (path) => chmodSync(path, 0o646), /everyone can write to it \(mode 646\)/],
    ["a group can write", (path) => chmodSync(path, 0o664), /the group 0 can write to it \(mode 664\)/],
    [
      "is in another user's folder",
      () => chownSync(project, OTHER, OTHER),
      /another user \(uid 54321\) owns the folder "/,
    ],
    [
      "is in a folder of everyone",
      () => chmodSync(project, 0o777),
      /everyone can write to the folder ".*" \(mode 777\)/,
    ],
    [
      "is in a folder of a group",
      () => chmodSync(project, 0o775),
      /the group 0 can write to the folder ".*" \(mode 775\)/,
    ],
  ])("is refused if %s, and read if it is named", async (_, change, reason) => {
    const path = write({ rest: { url: "http://127.0.0.1:9" } });
    change(path);
    expect(() => load()).toThrow(reason);
    expect(() => load()).toThrow(`name it: --config ${FILE}, TRADEWIRE_CONFIG=${FILE}, or \`file\` of loadConfig()`);
    expect(load({ TRADEWIRE_CONFIG: FILE }).sources.get("rest.url")).toBe(FILE);
    expect(load({}, { file: FILE }).found.size).toBe(0);
    const refused = await tradewire(["config"]);
    expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringMatching(reason) });
    expect(await tradewire(["config", "--config", FILE])).toMatchObject({ code: 0, err: "" });
    expect(await tradewire(["config"], { TRADEWIRE_CONFIG: FILE })).toMatchObject({ code: 0, err: "" });
  });

  it("is read in a sticky folder of everyone, unless the link to it is another user's", () => {
    const path = write({ retry: { tries: 7 } });
    chmodSync(project, 0o1777);
    expect(load().config.retry.tries).toBe(7);
    const elsewhere = mkdtempSync(join(folder, "elsewhere-"));
    rmSync(path);
    writeFileSync(join(elsewhere, "own.json"), '{"retry":{"tries":8}}', { mode: 0o644 });
    symlinkSync(join(elsewhere, "own.json"), path);
    chmodSync(elsewhere, 0o777);
    expect(() => load()).toThrow("everyone can write to the folder");
    chmodSync(elsewhere, 0o755);
    expect(load().config.retry.tries).toBe(8);
    spawnSync("chown", ["-h", String(OTHER), path]);
    chmodSync(project, 0o755); // Linux itself follows no link of others in a sticky folder.
    expect(() => load()).toThrow("another user (uid 54321) owns the link to it");
  });

  it("is read by every user if root owns it", () => {
    write({ retry: { tries: 7 } });
    expect(loadAs(OTHER).config.retry.tries).toBe(7);
  });

  it("does not wait for a pipe", async () => {
    spawnSync("mkfifo", ["-m", "600", join(project, FILE)]);
    expect(await tradewire(["config"])).toMatchObject({ code: 2, out: "" });
  });
});

/** Users of this machine whose primary group is theirs alone, and others whose group is not named as they are. */
function users(): { private?: [number, number]; shared?: [number, number] } {
  const rows = (path: string) =>
    readFileSync(path, "utf8")
      .split("\n")
      .map((line) => line.split(":"));
  const groups = rows("/etc/group");
  const all = rows("/etc/passwd").flatMap(([name, , uid, gid], _, entries) => {
    const group = groups.find(([, , id]) => id === gid);
    const isAlone =
      entries.filter((entry) => entry[3] === gid).length === 1 && group?.[0] === name && group?.[3] === "";
    return uid === undefined || uid === "0" ? [] : [{ isAlone, ids: [Number(uid), Number(gid)] as [number, number] }];
  });
  const [alone, other] = [all.find(({ isAlone }) => isAlone), all.find(({ isAlone }) => !isAlone)];
  return { ...(alone && { private: alone.ids }), ...(other && { shared: other.ids }) };
}

asRoot("a folder of umask 002", () => {
  const { private: own, shared } = users();

  function configOf([uid, gid]: [number, number]) {
    const path = write({ retry: { tries: 7 } });
    chownSync(path, uid, gid);
    chmodSync(path, 0o664);
    chownSync(project, uid, gid);
    chmodSync(project, 0o2775);
    return () => loadAs(uid).config.retry.tries;
  }

  (own ? it : it.skip)("is trusted if its group is the user's private one", () => {
    expect(configOf(own ?? [0, 0])()).toBe(7);
  });

  (own ? it : it.skip)("is not trusted if its group is another one", () => {
    expect(configOf([own?.[0] ?? 0, 54_321])).toThrow("the group 54321 can write to it");
  });

  (shared ? it : it.skip)("is not trusted if other users may be in the group", () => {
    expect(configOf(shared ?? [0, 0])).toThrow(`the group ${shared?.[1]} can write to it`);
  });
});

describe("a secret", () => {
  const url = "https://attacker.example";
  const headers = { TRADEWIRE_REST_HEADERS: HEADERS };

  it.each<[string, unknown, string]>([
    ["a URL", { rest: { url } }, "rest.url is"],
    ["certificate authorities", { rest: { url, tls: { caFile: "ca.pem" } } }, "rest.url, rest.tls.caFile are"],
  ])("of the environment does not go where a found file leads with %s", async (_, config, what) => {
    write(config);
    const message =
      `rest.headers is set by environment variable TRADEWIRE_REST_HEADERS, but ${what} set by ${FILE}, ` +
      "which was found and not named explicitly";
    expect(() => load(headers)).toThrow(message);
    expect(() => load(headers)).toThrow(
      "set these keys by options or environment variables. Nothing was sent or signed.",
    );
    expect(load({ ...headers, TRADEWIRE_CONFIG: FILE }).config.rest?.headers).toEqual({
      authorization: "Bearer t0ken",
    });
    const sent = await tradewire(["segments"], headers);
    expect(sent).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
    expect(sent.err).not.toContain("t0ken");
  });

  it.each<[string, unknown]>([
    ["url", url],
    ["addresses", ["192.0.2.1:3007"]],
    ["allowInsecureHeaders", true],
    ["tls.ca", "-----BEGIN CERTIFICATE-----"],
    ["tls.caFile", "ca.pem"],
    ["tls.serverName", "attacker.example"],
  ])("of the environment does not go where a found file sets grpc.%s alone", (key, value) => {
    const [group, inner] = key.split(".");
    write({ grpc: inner === undefined ? { [key]: value } : { [String(group)]: { [inner]: value } } });
    const node = { TRADEWIRE_GRPC_URL: "https://node.example", TRADEWIRE_TRANSPORT: "grpc-js" };
    const environment = key === "url" ? {} : node;
    expect(load(environment).found).toContain(`grpc.${key}`);
    const secrets = {
      "grpc.headers": { TRADEWIRE_GRPC_HEADERS: HEADERS },
      "grpc.tls.keyFile": { TRADEWIRE_GRPC_TLS_KEY_FILE: "key.pem", TRADEWIRE_GRPC_TLS_CERT_FILE: "cert.pem" },
      "grpc.tls.key": {
        TRADEWIRE_GRPC_TLS_KEY: "-----BEGIN PRIVATE KEY-----",
        TRADEWIRE_GRPC_TLS_CERT_FILE: "cert.pem",
      },
    };
    for (const [secret, variables] of Object.entries(secrets)) {
      expect(() => load({ ...environment, ...variables })).toThrow(
        new RegExp(`${secret} is set by environment variable \\w+, but grpc\\.${key} is set by ${FILE}`),
      );
      expect(() => load({ ...environment, ...variables, TRADEWIRE_CONFIG: FILE })).not.toThrow();
    }
  });

  it.each<[string, unknown]>([
    ["a proxy", "http://attacker.example:3128"],
    ["a proxy by rules", { https: "http://attacker.example:3128", noProxy: ["other.example"] }],
  ])("of the environment does not go through %s of a found file", async (_, proxy) => {
    write({ proxy });
    const node = { TRADEWIRE_REST_URL: "https://node.example", HTTPS_PROXY: "http://own.example:3128" };
    expect(load(node).config.proxy).toEqual(proxy);
    expect(load(node).found).toEqual(new Set(["proxy"]));
    const message = `rest.headers is set by environment variable TRADEWIRE_REST_HEADERS, but proxy is set by ${FILE}`;
    expect(() => load({ ...node, ...headers })).toThrow(message);
    const sent = await tradewire(["segments"], { ...node, ...headers });
    expect(sent).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
    expect(sent.err).not.toContain("t0ken");
    expect(load({ ...node, ...headers, TRADEWIRE_CONFIG: FILE }).config.proxy).toEqual(proxy);
  });

  it.each([["http://own.example:3128"], ["false"]])(
    "of the environment goes through the proxy that the environment names (%s), whatever file is found",
    (own) => {
      write({ proxy: "http://attacker.example:3128" });
      const node = { TRADEWIRE_REST_URL: "https://node.example", TRADEWIRE_PROXY: own };
      expect(load({ ...node, ...headers }).config.proxy).toBe(own === "false" ? false : own);
    },
  );

  it("of the environment goes to a URL of the environment or an option, whatever file is found", () => {
    write({ rest: { url }, retry: { tries: 7 } });
    const { config, found } = load({ ...headers, TRADEWIRE_REST_URL: "https://node.example" });
    expect(config.rest?.url).toBe("https://node.example");
    expect([...found]).toEqual(["retry.tries"]);
    const argument = { name: "--rest-url", key: "rest.url", value: "https://node.example" };
    expect(load(headers, { arguments: [argument] }).config.rest?.url).toBe("https://node.example");
  });

  it("of the found file goes to the URL of that file, and headers of one endpoint are not those of the other", () => {
    write({ rest: { url, headers: { a: "1" } }, grpc: { url } });
    expect(load().config.rest?.headers).toEqual({ a: "1" });
    write({ grpc: { url } });
    expect(load({ ...headers, TRADEWIRE_REST_URL: "https://node.example" }).config.grpc?.url).toBe(url);
  });

  it("that is a client's key is none of a found file's server", () => {
    write({ grpc: { url } });
    const pair = { TRADEWIRE_GRPC_TLS_KEY_FILE: "key.pem", TRADEWIRE_GRPC_TLS_CERT_FILE: "cert.pem" };
    expect(() => load(pair)).toThrow(
      "grpc.tls.keyFile is set by environment variable TRADEWIRE_GRPC_TLS_KEY_FILE, but",
    );
  });

  it.each<[string, unknown, string]>([
    ["node", { rest: { url } }, "rest.url is"],
    ["chain", { chainId: "attacker-1" }, "chainId is"],
    ["chain and node", { chainId: "attacker-1", rest: { url } }, "chainId, rest.url are"],
    ["proxy", { proxy: "http://attacker.example:3128" }, "proxy is"],
  ])("signs nothing for the %s of a found file", async (_, config, what) => {
    write(config);
    writeFileSync(join(project, "command.json"), '{"stopOrdersCancellation":{}}');
    const key = join(project, "own.key");
    writeFileSync(key, seed, { mode: 0o600 });
    const message = `the signing key is not from that file, but ${what} set by ${FILE}`;
    for (const command of ["sign", "submit"]) {
      const byVariable = await tradewire([command, "command.json"], { TRADEWIRE_SEED: seed });
      expect(byVariable).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
      const byFile = await tradewire([command, "command.json", "--key-file", key]);
      expect(byFile).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
    }
    expect(() => load({}, { forSigning: true })).toThrow(message);
    expect(load({}, { forSigning: true, file: FILE }).sources.size).toBeGreaterThan(0);
    expect(load().found.size).toBeGreaterThan(0);
  });

  it("signs if a found file only sets other values, or those of a transport that is not called", () => {
    write({ retry: { tries: 7 }, transport: "grpc", rest: { url } });
    const { config } = load({ TRADEWIRE_GRPC_URL: "http://127.0.0.1:9" }, { forSigning: true });
    expect(config.retry.tries).toBe(7);
  });
});

describe("TRADEWIRE_CONFIG", () => {
  it("names the file, unless an option does", () => {
    mkdirSync(join(project, "etc"));
    writeFileSync(join(project, "etc", "a.json"), '{"retry":{"tries":5}}');
    writeFileSync(join(project, "b.json"), '{"retry":{"tries":6}}');
    const environment = { TRADEWIRE_CONFIG: "etc/a.json" };
    expect(load(environment).sources.get("retry.tries")).toBe("etc/a.json");
    expect(load(environment, { file: "b.json" }).config.retry.tries).toBe(6);
    expect(() => load({ TRADEWIRE_CONFIG: "none.json" })).toThrow(
      'the configuration file "none.json" (from TRADEWIRE_CONFIG) does not exist',
    );
  });

  it("is counted as not set if it is empty", () => {
    write({ retry: { tries: 7 } });
    expect(load({ TRADEWIRE_CONFIG: "" }).config.retry.tries).toBe(7);
  });
});

describe("tradewire config", () => {
  it("tells a file that was found from one that was named", async () => {
    write({ retry: { tries: 7 } });
    expect((await tradewire(["config", "-o", "table"])).out).toMatch(
      /^retry\.tries +7 +tradewire\.config\.json, line 1 \(found\)$/m,
    );
    expect((await tradewire(["config", "-o", "table", "--config", FILE])).out).toMatch(
      /^retry\.tries +7 +tradewire\.config\.json, line 1$/m,
    );
    const found: unknown = JSON.parse((await tradewire(["config", "--json"])).out);
    expect(found).toHaveProperty(["retry.tries"], { value: 7, source: FILE, line: 1, found: true });
    expect(found).toHaveProperty(["retry.baseMs"], { value: 100, source: "default" });
  });
});
