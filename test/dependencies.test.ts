import { readdir, readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import ts from "typescript";

/** A package in the lockfile (npm's documentation, package-lock.json). */
interface Locked {
  readonly version: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
}

interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[];
}

const read = async (path: string) => JSON.parse(await readFile(path, "utf8"));
const { dependencies, peerDependencies } = await read("package.json");
const { "": _, ...packages }: Record<string, Locked> = (await read("package-lock.json")).packages;
const locked = Object.entries(packages).map(([path, entry]) => ({
  ...entry,
  path,
  name: path.replace(/^.*node_modules\//, ""),
}));
const installed = locked.filter(({ dev, devOptional }) => dev !== true && devOptional !== true);

/** Returns the package of a module's name. */
const packageOf = (name: string) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? "";

async function builtFiles(ending: string): Promise<string[]> {
  const names = await readdir("dist", { recursive: true });
  return names.filter((name) => name.endsWith(ending)).map((name) => join("dist", name));
}

it("what is built imports only what is declared, and by names that the packages export", async () => {
  const declared = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies), "tradewire"]);
  const used = new Set<string>();
  for (const path of await builtFiles(".js")) {
    for (const { fileName } of ts.preProcessFile(await readFile(path, "utf8"), true, true).importedFiles) {
      if (!fileName.startsWith(".") && !isBuiltin(fileName)) {
        used.add(fileName);
      }
    }
  }
  expect([...used].filter((name) => !declared.has(packageOf(name)))).toEqual([]);
  for (const name of used) {
    expect(() => import.meta.resolve(name)).not.toThrow();
  }
  const usedPackages = [...used].map(packageOf);
  expect(Object.keys(dependencies).filter((name) => !usedPackages.includes(name))).toEqual([]);
});

it("what is built is made of the sources alone", async () => {
  const maps = await builtFiles(".js.map");
  expect(maps.length).toBeGreaterThan(10);
  for (const path of maps) {
    const { sources }: { sources: string[] } = await read(path);
    expect({ path, foreign: sources.filter((source) => !/^(\.\.\/)+(src|gen)\/|^[^/]+\.ts$/.test(source)) }).toEqual({
      path,
      foreign: [],
    });
  }
});

it("the bill of materials lists each package that is installed, in its version and with a licence that permits its use", async () => {
  const { bomFormat, components }: { bomFormat: string; components: Component[] } = await read("dist/sbom.cdx.json");
  expect(bomFormat).toBe("CycloneDX");
  const listed = components.map(({ name, version }) => `${name} ${version}`).sort();
  // What is installed in several places is listed once.
  expect(listed).toEqual([...new Set(installed.map(({ name, version }) => `${name} ${version}`))].sort());
  expect(listed).toEqual(expect.arrayContaining([expect.stringMatching(/^undici /), expect.stringMatching(/^ws /)]));
  const permitted = /\b(MIT|Apache-2\.0|BSD-[23]-Clause|ISC|0BSD)\b/;
  const others = components.filter(({ licenses }) => {
    return !licenses.some(({ license, expression }) => permitted.test(license?.id ?? expression ?? ""));
  });
  expect(others).toEqual([]);
});

it("of what is installed only protobufjs runs a script, and each package of the lockfile has a checksum and comes from the registry", () => {
  expect(installed.length).toBeGreaterThan(20);
  // grpc-js brings protobufjs, whose script prints a warning where a package.json names it with a range of another form.
  const withScripts = installed.filter(({ hasInstallScript }) => hasInstallScript === true);
  expect(withScripts.map(({ name }) => name)).toEqual(["protobufjs"]);
  expect(locked.filter(({ integrity }) => !/^sha512-/.test(integrity ?? "")).map(({ path }) => path)).toEqual([]);
  // Without `resolved`, npm takes the registry that is configured.
  expect(locked.filter(({ resolved }) => resolved !== undefined).map(({ path }) => path)).toEqual([]);
});
