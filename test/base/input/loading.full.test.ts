import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { openMarket } from "../../support/devnode.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ blockMs: 300, segments: 1, blocksPerSegment: 20 });
});
afterAll(() => node.close());

let folder: string;
let modules: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-loading-"));
  modules = join(folder, "node_modules");
  await installPackage();
});
afterEach(() => rm(folder, { recursive: true }));

/** Copies the package as it is built, and what it depends on, as npm installs them. DuckDB, which is large, is not moved. */
async function installPackage(): Promise<void> {
  const { packages } = JSON.parse(await readFile("package-lock.json", "utf8"));
  for (const [path, { dev, optional, devOptional }] of Object.entries<Record<string, unknown>>(packages)) {
    if (path.startsWith("node_modules/") && dev !== true && devOptional !== true && optional !== true) {
      await cp(path, join(folder, path), { recursive: true });
    }
  }
  for (const name of ["node-api", "node-bindings"]) {
    await mkdir(join(modules, "@duckdb"), { recursive: true });
    await symlink(resolve(`node_modules/@duckdb/${name}`), join(modules, "@duckdb", name));
  }
  await mkdir(join(modules, "tradewire"));
  await cp("dist", join(modules, "tradewire", "dist"), { recursive: true });
  await cp("package.json", join(modules, "tradewire", "package.json"));
}

/** Runs a program of the folder `loading`, and yields the lines that it prints. */
async function* run(name: string, shell = "exec"): AsyncGenerator<{ line: string; proceed(): void }> {
  const program = join(folder, `${name}.mjs`);
  await cp(join("test", "base", "input", "loading", `${name}.mjs`), program);
  const { grpcUrl, restUrl, mnemonic, chainId } = node;
  const data = join(folder, "data");
  await mkdir(data, { mode: 0o700 });
  const settings = JSON.stringify({ grpcUrl, restUrl, mnemonic, chainId, marketId: openMarket, folder: data });
  const child = spawn("sh", ["-c", `${shell} "$@"`, "sh", process.execPath, program, settings], {
    cwd: dirname(program),
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    for await (const line of createInterface(child.stdout)) {
      yield { line, proceed: () => void child.stdin.write("\n") };
    }
  } finally {
    if (child.exitCode === null) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
  }
}

it("all that runs goes on after the package was moved away", async () => {
  const results: Record<string, string> = {};
  for await (const { line, proceed } of run("moved-program")) {
    if (line === "running") {
      await rename(modules, join(folder, "moved"));
      proceed();
    } else {
      const [name, result] = JSON.parse(line);
      results[name] = result;
      if (result.startsWith("TW_NOT_LOADED")) {
        break; // What needs that code, too, may wait for minutes.
      }
    }
  }
  expect(Object.entries(results).filter(([, result]) => result !== "works")).toEqual([]);
  expect(Object.keys(results)).toHaveLength(19);
});

it("a first use without file descriptors fails with a code, and the next one works", async () => {
  const results: Record<string, string[]> = {};
  for await (const { line } of run("full-program", "ulimit -n 400; exec")) {
    const [name, ...each] = JSON.parse(line);
    results[name] = each;
  }
  expect(Object.keys(results)).toHaveLength(19);
  const wrong = Object.entries(results).filter(
    ([, [full = "", free]]) => !/^(TW_|works$)/.test(full) || free !== "works",
  );
  expect(wrong).toEqual([]);
});
