import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run, startCommand } from "../support/command.js";
import { writePrivately } from "../support/private-file.js";
import { seed } from "../support/transactions.js";
import { useVirtualRuntime } from "../support/virtual-runtime.js";

/** One node for all. It makes blocks when it is told to. */
let node: Devnode;
let folder: string;
let keyFile: string;
let commandFile: string;
let over: string[];
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  over = ["--transport", "rest", "--rest-url", node.restUrl];
  folder = await mkdtemp(join(tmpdir(), "tradewire-signing-"));
  keyFile = await write("key", `${seed}\n`);
  commandFile = await write("command.json", JSON.stringify({ stopOrdersCancellation: {} }));
});
beforeEach(async () => {
  await node.makeBlock(); // Each block serves only so many transactions of a key.
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const write = (name: string, content: string) => writePrivately(folder, name, content);

describe("the chain that the user names", () => {
  const other = 'the node is on chain "tradewire-devnet", not on "vega-mainnet-0011"';

  test("is the only one that is signed or verified for", async () => {
    const sign = ["sign", commandFile, "--key-file", keyFile, ...over];
    const signed = await run([...sign, "--chain-id", "tradewire-devnet"]);
    expect(signed).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^Signing with key .* for chain tradewire-devnet/),
    });
    const file = await write("signed.json", signed.out);
    const valid = await run(["verify", file, ...over, "--chain-id", "tradewire-devnet", "-o", "table"]);
    expect(valid).toMatchObject({
      code: 0,
      out: expect.stringContaining("Valid: signature for chain tradewire-devnet, "),
    });
    const outcome = ["outcome", "ab".repeat(32), "--wait", "5s", ...over];
    for (const args of [sign, ["submit", ...sign.slice(1)], ["verify", file, ...over], outcome]) {
      const refused = await run([...args, "--chain-id", "vega-mainnet-0011"]);
      expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringContaining(other) });
    }
  });

  test("may be named by the environment, and has to be where the node is elsewhere", async () => {
    const environment = { TRADEWIRE_CHAIN_ID: "vega-mainnet-0011" };
    const args = ["sign", commandFile, "--key-file", keyFile];
    const refused = await run([...args, ...over], { environment });
    expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringContaining(other) });
    const elsewhere = ["--transport", "rest", "--rest-url", "http://node.invalid:1"];
    const unnamed = await run([...args, ...elsewhere]);
    expect(unnamed).toMatchObject({ code: 2, out: "", err: expect.stringContaining("or --chain-id") });
  });

  test("is refused where it is no identifier of a chain", async () => {
    const refused = await run(["sign", commandFile, "--key-file", keyFile, ...over, "--chain-id", "a b"]);
    expect(refused).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining(
        'tradewire: the configuration is invalid: --chain-id must be 1 to 50 characters of A-Z a-z 0-9 . _ - (got "a b")',
      ),
    });
  });
});

describe("what is submitted", () => {
  const submit = (file: string, ...more: string[]) => run(["submit", file, "-o", "table", ...over, ...more]);
  const sign = async (...more: string[]) =>
    (await run(["sign", commandFile, "--key-file", keyFile, ...over, ...more])).out;

  test("is told by the reply in the file", async () => {
    const file = await write("async.json", await sign("--reply", "async"));
    expect(await submit(file)).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^Submitting .*\n {2}stopOrdersCancellation\n {2}stopOrders +all of this key's\nSent, but not yet checked by the node\.\n$/,
      ),
    });
    const none = { ...JSON.parse(await sign()), type: "TYPE_UNSPECIFIED" };
    const unspecified = await write("unspecified.json", JSON.stringify(none));
    expect(await submit(unspecified)).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^Submitting .*\n {2}stopOrdersCancellation\n {2}stopOrders +all of this key's\nSent, but not yet checked by the node\.\n$/,
      ),
    });
    await node.makeBlock();
    const sync = await write("sync.json", await sign());
    expect(await submit(sync)).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^Submitting .*\n {2}stopOrdersCancellation\n {2}stopOrders +all of this key's\nAccepted into the mempool\.\n$/,
      ),
    });
  });

  test("is not signed anew: options of signing do not go with it", async () => {
    const file = await write("again.json", await sign());
    for (const [options, named] of [
      [["--reply", "sync"], "--reply"],
      [["--tx-version", "V3"], "--tx-version"],
      [["--chain-id-prefix", "signature-only", "--key-file", keyFile], "--key-file, --chain-id-prefix"],
      [["--chain-id", "tradewire-devnet"], "--chain-id"],
    ] as const) {
      const err = expect.stringContaining(`the file is already signed, so ${named} cannot apply`);
      expect(await submit(file, ...options)).toMatchObject({ code: 2, out: "", err });
    }
    expect(await submit(file)).toMatchObject({ code: 0 });
  });
});

describe("a key", () => {
  test("is not shown where it was given for a path", async () => {
    for (const args of [
      ["keys", "show", seed],
      ["submit", seed],
      ["verify", seed],
      ["sign", commandFile, "--key-file", `0x${seed}`, ...over],
      ["submit", commandFile, "--config", seed],
    ]) {
      const { code, out, err } = await run(args);
      expect(code).toBeGreaterThan(0);
      expect(err).toContain("***");
      expect(out + err).not.toContain(seed.slice(8, 40));
    }
  });

  test("leaves the environment once it is read", async () => {
    const args = ["sign", commandFile, ...over, "--chain-id", "tradewire-devnet"];
    const command = startCommand(args, { environment: { TRADEWIRE_SEED: seed } });
    expect((await command.ended).code).toBe(0);
    expect(command.environment).not.toHaveProperty("TRADEWIRE_SEED");
  });
});

/** The exit code of each signal that ends a command: 128 and its number, as shells have it. */
const codes = { SIGINT: 130, SIGHUP: 129, SIGQUIT: 131, SIGTERM: 143 } as const;
const ending = Object.keys(codes) as (keyof typeof codes)[];

test.each(ending.flatMap((signal) => ["submit", "sign", "verify"].map((command) => [signal, command] as const)))(
  "%s ends %s while it reads standard input",
  async (signal, command) => {
    const input = new PassThrough();
    const { interrupt, ended } = startCommand([command, "-"], { input });
    // More than the stream holds: once it is written, the command is reading.
    await new Promise((resolve) => input.write(" ".repeat(2 ** 20), resolve));
    interrupt(signal);
    expect((await ended).code).toBe(codes[signal]);
  },
);

describe("a submission that is interrupted", () => {
  /** A gateway that passes all but some requests on, and lets those wait for ever. */
  async function waitingAt(path: RegExp) {
    let told = () => {};
    const asked = new Promise<void>((resolve) => {
      told = resolve;
    });
    const server = createServer(async (request, response) => {
      if (path.test(request.url ?? "")) {
        request.resume().on("end", told);
        return;
      }
      const answer = await fetch(new URL(request.url ?? "", node.restUrl));
      response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const close = async () => {
      server.closeAllConnections();
      server.close();
    };
    return { url, asked, [Symbol.asyncDispose]: close };
  }
  const submit = (url: string, ...more: readonly string[]) => {
    const args = ["submit", commandFile, "--key-file", keyFile, "--chain-id", "tradewire-devnet", ...more];
    return startCommand([...args, "--transport", "rest", "--rest-url", url]);
  };

  test.each(ending)("by %s once it was sent says so, with its hash, and its outcome is unknown", async (signal) => {
    await using gateway = await waitingAt(/^\/transaction/);
    const { interrupt, ended } = submit(gateway.url);
    await Promise.race([gateway.asked, ended]);
    interrupt(signal);
    const { code, out, err } = await ended;
    const [, hash = ""] = /^Submitting ([0-9A-F]{64}) /m.exec(err) ?? [];
    expect({ code, out, hash: hash.length }).toEqual({ code: 3, out: "", hash: 64 });
    expect(err.split("\n").filter((line) => line.includes(hash)).length).toBeGreaterThan(1);
  });

  test("by its --timeout is like that", async () => {
    await using sending = await waitingAt(/^\/transaction/);
    using runtime = useVirtualRuntime({ io: true });
    const { ended } = submit(sending.url, "--timeout", "20s");
    await Promise.race([sending.asked, ended]);
    await runtime.pass(20_000);
    const err = expect.stringMatching(/^Submitting ([0-9A-F]{64}) [\s\S]*\1/);
    expect(await ended).toMatchObject({ code: 3, out: "", err });
    await using asking = await waitingAt(/./);
    const unsent = submit(asking.url, "--timeout", "300ms");
    await Promise.race([asking.asked, unsent.ended]);
    await runtime.pass(300);
    const said = "Nothing was sent.\ntradewire: the command did not end within 300 ms\n";
    expect(await unsent.ended).toMatchObject({ code: 1, out: "", err: expect.stringContaining(said) });
  });

  test.each(ending)("by %s before says that nothing was sent", async (signal) => {
    await using gateway = await waitingAt(/./);
    const { interrupt, ended } = submit(gateway.url);
    await Promise.race([gateway.asked, ended]);
    interrupt(signal);
    expect(await ended).toEqual({ code: codes[signal], out: "", err: expect.stringContaining("Nothing was sent.\n") });
  });
});
