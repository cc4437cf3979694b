import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Outcome } from "../support/command.js";
import { main } from "../support/command-process.js";

/** As in `trust.test.ts`, by other users: only root can start processes of theirs. */
const asRoot = process.geteuid?.() === 0 ? describe : describe.skip;
const OTHER = 54_321;

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
  const path = join(project, "tradewire.config.json");
  writeFileSync(path, JSON.stringify(config), { mode: 0o644 });
  return path;
}

/** Show the configuration as another user, with another group, in a process that has them. */
async function configAsUser(user: number): Promise<Outcome> {
  const child = spawn(process.execPath, [main, "config"], {
    cwd: project,
    env: { PATH: process.env["PATH"] },
    uid: user,
    gid: user,
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code, out, err };
}

asRoot("a configuration file that was found", () => {
  it("is read by every user if root owns it", async () => {
    write({ retry: { tries: 7 } });
    expect(await configAsUser(OTHER)).toMatchObject({ code: 0, out: expect.stringMatching(/tries +7/) });
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

  function configAs([uid, gid]: [number, number]) {
    const path = write({ retry: { tries: 7 } });
    chownSync(path, uid, gid);
    chmodSync(path, 0o664);
    chownSync(project, uid, gid);
    chmodSync(project, 0o2775);
    return configAsUser(uid);
  }

  (own ? it : it.skip)("is trusted if its group is the user's private one", async () => {
    expect(await configAs(own ?? [0, 0])).toMatchObject({ code: 0, err: "" });
  });

  (own ? it : it.skip)("is not trusted if its group is another one", async () => {
    expect(await configAs([own?.[0] ?? 0, 54_321])).toMatchObject({
      code: 2,
      err: expect.stringContaining("the group 54321 can write to it"),
    });
  });

  (shared ? it : it.skip)("is not trusted if other users may be in the group", async () => {
    expect(await configAs(shared ?? [0, 0])).toMatchObject({
      code: 2,
      err: expect.stringContaining(`the group ${shared?.[1]} can write to it`),
    });
  });
});
