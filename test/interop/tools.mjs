// What the cases need beside this project, made or installed in a folder that is kept from run to run.
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { need, run } from "./processes.mjs";

/** How long building and installing may take, in seconds. */
const INSTALL_SECONDS = 900;

/**
 * Find the tools. Each is made once, when a case first asks for it.
 *
 * @param root the project's folder
 * @returns `go()` gives the folder with the programs in `go/` and with grpcurl, `python()` the Python that has grpcio and the
 *   generated code; each throws `LeftOut` where the machine lacks what it needs
 */
export function createTools(root) {
  const own = join(root, "test/interop");
  const cache = join(root, "node_modules/.cache/interop");

  async function buildGo() {
    await need("go");
    const [source, bin] = [join(cache, "go"), join(cache, "bin")];
    const options = { cwd: source, seconds: INSTALL_SECONDS, env: { GOBIN: bin } };
    await rm(source, { recursive: true, force: true });
    await cp(join(own, "go"), source, { recursive: true });
    await run("go", ["install", "tool"], options);
    const paths = ["--path", "proto/datanode", "--path", "proto/vega"];
    const template = join(own, "buf.gen.yaml");
    await run(join(root, "node_modules/.bin/buf"), ["generate", "--template", template, "--output", source, ...paths], {
      cwd: root,
      env: { PATH: `${bin}${delimiter}${process.env.PATH}` },
    });
    await run("go", ["install", "."], options);
    return bin;
  }

  async function installPython() {
    await need("python3");
    const folder = join(cache, "python");
    const [requirements, mark] = [join(own, "python/requirements.txt"), join(folder, "installed")];
    const wanted = createHash("sha256")
      .update(await readFile(requirements))
      .digest("hex");
    const python = join(folder, "bin/python");
    if ((await readFile(mark, "utf8").catch(() => "")) !== wanted) {
      await run("python3", ["-m", "venv", "--clear", folder]);
      await run(python, ["-m", "pip", "install", "--quiet", "--requirement", requirements], {
        seconds: INSTALL_SECONDS,
      });
      await writeFile(mark, wanted);
    }
    const generated = join(cache, "python-generated");
    await rm(generated, { recursive: true, force: true });
    await mkdir(generated, { recursive: true });
    const files = (await readdir(join(root, "proto"), { recursive: true })).filter((name) => name.endsWith(".proto"));
    const out = [`--python_out=${generated}`, `--grpc_python_out=${generated}`];
    await run(python, ["-m", "grpc_tools.protoc", "-I", ".", ...out, ...files], { cwd: join(root, "proto") });
    return (file, ...args) => run(python, [join(own, "python", file), ...args], { env: { PYTHONPATH: generated } });
  }

  return { go: once(buildGo), python: once(installPython) };
}

/** Make something at the first time it is asked for. */
export function once(make) {
  let made;
  return () => {
    made ??= make();
    return made;
  };
}
