import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";

/** A folder with the built package, as npm installs it, and a DuckDB of another version. */
let folder = "";
const installed = (name: string) => join(folder, "node_modules", name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-duckdb-"));
  await mkdir(installed("tradewire"), { recursive: true });
  await Promise.all(
    ["package.json", "dist"].map((name) => cp(name, join(installed("tradewire"), name), { recursive: true })),
  );
  const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
  for (const name of Object.keys(dependencies)) {
    await mkdir(dirname(installed(name)), { recursive: true });
    await symlink(resolve("node_modules", name), installed(name), "junction");
  }
});
afterAll(() => rm(folder, { recursive: true }));

/** Puts a package in the place of DuckDB's that says no more than its version. */
async function install(version: string): Promise<void> {
  const place = installed("@duckdb/node-api");
  await mkdir(place, { recursive: true });
  await writeFile(join(place, "package.json"), JSON.stringify({ name: "@duckdb/node-api", main: "index.js" }));
  await writeFile(join(place, "index.js"), `exports.version = () => ${JSON.stringify(version)};`);
}

function run(...args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((done) => {
    const child = execFile(process.execPath, args, { cwd: folder }, (_error, out, err) => {
      done({ code: child.exitCode ?? -1, output: `${out}${err}` });
    });
  });
}
const verify = (to: string) => run(join(installed("tradewire"), "dist/src/cli/main.js"), "sync", "verify", "--to", to);

it.each(["v1.4.4", "v1.0.0", "v0.10.2"])(
  "refuses DuckDB %s, says which it needs and how to install it",
  async (version) => {
    await install(version);
    const refused = `the package @duckdb/node-api contains DuckDB ${version}, but 1.5 or later is required`;
    const { code, output } = await verify("duckdb:a.duckdb");
    expect(output).toContain(refused);
    expect(output).toContain("npm install @duckdb/node-api@latest");
    expect(code).toBe(2);
    const program = `import { duckdbSink, verifySync } from "tradewire/sync";
    await verifySync(duckdbSink("a.duckdb")).catch(({ name, message }) => console.log(name, message));`;
    expect(await run("--input-type=module", "--eval", program)).toMatchObject({
      code: 0,
      output: expect.stringContaining(`RequestError ${refused}`),
    });
    expect(await readdir(folder)).toEqual(["node_modules"]);
  },
);

it.each(["v1.5.0", "v1.10.0", "v2.0.0"])("takes DuckDB %s", async (version) => {
  await install(version);
  expect((await verify("duckdb:a.duckdb")).output).not.toContain("or later is required");
});

it("says how to install prom-client where metrics are to be served without it", async () => {
  const program = `import { createSyncState, startWatch } from "tradewire/sync";
    await startWatch({ listen: "127.0.0.1:0", state: createSyncState() }).catch(({ name, message }) => console.log(name, message));`;
  expect(await run("--input-type=module", "--eval", program)).toMatchObject({
    code: 0,
    output: expect.stringMatching(
      /^RequestError serving metrics needs prom-client, which is not installed\nRun: npm install prom-client\n/,
    ),
  });
});

it("says how to install DuckDB where it is not there", async () => {
  await rm(installed("@duckdb"), { recursive: true, force: true });
  const { code, output } = await verify("duckdb:a.duckdb");
  expect(output).toContain("needs @duckdb/node-api, which is not installed");
  expect(output).toContain("npm install @duckdb/node-api");
  expect(code).toBe(2);
});
