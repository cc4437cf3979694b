import { execFile } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "@jest/globals";
import { closedUrl } from "../../support/node.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const run = promisify(execFile);

/** Answers as the front ends of Google's APIs do. */
const server = createServer((request, response) => {
  const emma = { title: "Emma", pages: "474" };
  const answers: Record<string, [status: number, body: unknown]> = {
    "/v1/shelves/1/books/2": [200, emma],
    "/v1/shelves/1/books:watch": [200, [emma, { title: "Persuasion" }]],
    "/v1/books/1": [200, emma],
    "/v1/books/0": [404, { error: { code: 404, message: "no such book", status: "NOT_FOUND" } }],
  };
  const [status, body] = answers[request.url ?? ""] ?? [500, "no such path"];
  response.writeHead(status, { "content-type": "application/json; charset=UTF-8" });
  response.end(JSON.stringify(body, undefined, 2));
});

it("runs the example of docs/transport.md as it is printed, and it prints what its comments say", async () => {
  const text = await readFile(join(root, "docs/transport.md"), "utf8");
  const block = (language: string) => text.split(`\`\`\`${language}\n`)[1]?.split("\n```")[0] ?? "";
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  await mkdir(join(root, "out"), { recursive: true }); // Inside the project, where packages are found.
  const folder = await mkdtemp(join(root, "out/docs-"));
  try {
    await mkdir(join(folder, "proto/library/v1"), { recursive: true });
    await cp(join(root, "proto/google"), join(folder, "proto/google"), { recursive: true });
    await writeFile(join(folder, "proto/library/v1/library.proto"), block("proto"));
    await writeFile(join(folder, "buf.yaml"), "version: v2\nmodules: [{ path: proto }]\n");
    const plugin = { local: "protoc-gen-es", out: "gen", opt: ["target=js", "import_extension=js"] };
    const bin = join(root, "node_modules/.bin");
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
    const template = JSON.stringify({ version: "v2", plugins: [plugin] });
    await run(join(bin, "buf"), ["generate", "--template", template], { cwd: folder, env });

    const program = block("js")
      .replace("https://library.example", url)
      .replace("https://grpc.library.example", await closedUrl());
    await writeFile(join(folder, "example.js"), program);
    const { stdout } = await run(process.execPath, [join(folder, "example.js")]);
    const comments = [...program.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].flatMap(([, said = ""]) =>
      said.split(", then "),
    );
    expect(comments).toHaveLength(5);
    expect(stdout.trimEnd().split("\n")).toEqual(comments);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
