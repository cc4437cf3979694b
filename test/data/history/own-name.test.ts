import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { csvZip } from "../../support/archives.js";
import { serveExport } from "../../support/export-server.js";

const request = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-own-name-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Save an export of a node that gives the name, if any. */
async function saved(profile: "specification" | "deployed" | undefined, disposition?: string, target = `${folder}/`) {
  const chunk = { contentType: "application/zip", data: await csvZip(10_000) };
  await using server = await serveExport("grpc", { chunks: [chunk], ...(disposition && { disposition }) });
  await using client = createClient({ grpc: { url: server.url }, ...(profile && { profile }) });
  const { path } = await client.exportNetworkHistory(request, { extensions: "optional" }).saveTo(target);
  return basename(path);
}

describe("an archive that is saved to a folder", () => {
  it.each([
    [undefined, "network-trades-1-3000.zip"],
    ["specification", "network-trades-1-3000.zip"],
    ["deployed", "network-trades-000001-003000.zip"],
  ] as const)("has a name in the form of the profile %s where the node gives none", async (profile, name) => {
    expect(await saved(profile)).toBe(name);
  });

  it("has the node's name, whatever the profile", async () => {
    const disposition = "attachment;filename=chain-1-trades-1-3000.zip";
    expect(await saved("deployed", disposition)).toBe("chain-1-trades-1-3000.zip");
  });

  it("has the caller's name where that is given", async () => {
    expect(await saved("deployed", undefined, join(folder, "mine.zip"))).toBe("mine.zip");
  });
});
