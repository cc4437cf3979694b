import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import pg from "pg";
import { createPermits } from "../../../src/sync/queue/admission.js";
import { builtProgram } from "../../support/built-program.js";
import { startPostgres } from "../../support/postgres.js";
import { openQueueDatabase, parseTarget } from "./inside.js";

it("keeps a permit where sessions of the role may not be idle for long", async () => {
  await using server = await startPostgres();
  const superuser = new pg.Client(server.url);
  await superuser.connect();
  await superuser.query("CREATE ROLE hasty LOGIN; ALTER ROLE hasty SET idle_session_timeout TO 100");
  await superuser.end();
  const url = server.url.replace("postgres@", "hasty@");
  await using db = await openQueueDatabase(parseTarget(url, "public"));
  await using permits = createPermits(db, 1);
  const permit = await permits.take("node");
  const idle = new pg.Client(url);
  idle.on("error", () => undefined);
  const ended = new Promise((resolve) => idle.once("end", () => resolve(undefined)));
  await idle.connect();
  await ended; // Such sessions are ended.
  await setTimeout(100); // PostgreSQL's limit for idle sessions, once more.
  expect(permit?.signal.aborted).toBe(false);
  expect(await permits.take("node")).toBeUndefined();
  await permit?.release();
});

it("gives permits back side by side without a warning of the driver", async () => {
  await using server = await startPostgres();
  const program = await builtProgram("test/sync/queue/permits-process.ts", "permits");
  const child = spawn(process.execPath, [program, server.url], { stdio: ["ignore", "pipe", "pipe"] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect({ out, err }).toEqual({ out: "8 taken, 8 taken\n", err: "" });
});
