// What the cases need beside this project, made or installed in a folder that is kept from run to run.
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { isThere, LeftOut, need, run } from "./processes.mjs";

/** The version of etcd that is built. */
const ETCD = "v3.7.3";
/** The commands that are installed where they are not on the PATH. */
const SHOWCASE = "github.com/googleapis/gapic-showcase/cmd/gapic-showcase@v0.42.0";
const OPENFGA = "github.com/openfga/openfga/cmd/openfga@v1.18.1";

/** How long building and installing may take, in seconds. */
const INSTALL_SECONDS = 900;

/** Find the tools. Each is made once, when a case first asks for it. */
export function createTools(root) {
  const own = join(root, "test/external/interop");
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

  /** Build etcd, and compile the definitions of its interface. */
  async function buildEtcd() {
    await need("go");
    const [source, program, protos] = [join(cache, "etcd"), join(cache, "bin/etcd"), join(cache, "etcd.binpb")];
    const options = { cwd: source, seconds: INSTALL_SECONDS };
    await rm(source, { recursive: true, force: true });
    await mkdir(source, { recursive: true });
    await run("go", ["mod", "init", "tradewire/etcd"], options);
    await orLeftOut("etcd", () => run("go", ["get", `go.etcd.io/etcd/server/v3@${ETCD}`], options));
    await run("go", ["build", "-o", program, "go.etcd.io/etcd/server/v3"], options);
    const moduleOf = async (name) => (await run("go", ["list", "-m", "-f", "{{.Dir}}", name], options)).trim();
    const proto = join(source, "proto");
    await cp(join(root, "proto/google"), join(proto, "google"), { recursive: true });
    await copyProtos(await moduleOf("go.etcd.io/etcd/api/v3"), join(proto, "etcd/api"));
    const gateway = join(await moduleOf("github.com/grpc-ecosystem/grpc-gateway/v2"), "protoc-gen-openapiv2/options");
    await copyProtos(gateway, join(proto, "protoc-gen-openapiv2/options"));
    const path = ["--path", "etcd/api/etcdserverpb/rpc.proto"];
    await run(join(root, "node_modules/.bin/buf"), ["build", ...path, "--output", protos], { cwd: proto });
    return { program, protos };
  }

  /** Find a program on the PATH, or install it as a command of a Go module. */
  async function installCommand(name, path) {
    if (await isThere(name)) {
      return name;
    }
    await need("go");
    const options = { seconds: INSTALL_SECONDS, env: { GOBIN: join(cache, "bin") } };
    await orLeftOut(name, () => run("go", ["install", path], options));
    return join(cache, "bin", name);
  }

  return {
    go: once(buildGo),
    python: once(installPython),
    etcd: once(buildEtcd),
    showcase: once(() => installCommand("gapic-showcase", SHOWCASE)),
    openfga: once(() => installCommand("openfga", OPENFGA)),
  };
}

/** Copy the definitions in a folder, which Go keeps read-only. */
async function copyProtos(from, to) {
  for (const name of await readdir(from, { recursive: true })) {
    if (name.endsWith(".proto")) {
      await mkdir(join(to, dirname(name)), { recursive: true });
      await writeFile(join(to, name), await readFile(join(from, name)));
    }
  }
}

/** Leave cases out whose server cannot be had, such as from a proxy of Go modules that lacks it. */
async function orLeftOut(what, get) {
  try {
    return await get();
  } catch (cause) {
    throw new LeftOut(`${what} cannot be downloaded: ${cause.message.trim().split("\n").at(-1)}`);
  }
}

/** Make something at the first time it is asked for. */
export function once(make) {
  let made;
  return () => {
    made ??= make();
    return made;
  };
}
