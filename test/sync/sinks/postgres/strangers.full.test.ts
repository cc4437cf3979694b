import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type pg from "pg";
import { postgresSink, queueStatus, runWorker } from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";
import { calm, count, withClient } from "./open-sink.js";

// What other roles can do is PostgreSQL's own rule: https://www.postgresql.org/docs/current/ddl-schemas.html#DDL-SCHEMAS-PATTERNS
// and https://www.postgresql.org/docs/current/typeconv-func.html: a function whose types fit better is called, wherever it is.

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
  await withClient(server.url, (client) => client.query("CREATE ROLE mallory LOGIN; CREATE ROLE keeper LOGIN"));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const refused = (what: string) => ({
  name: "SinkError",
  code: Code.PermissionDenied,
  message: expect.stringContaining(what),
});

/** A database in which `mallory` may create objects in the schema `public`, and what she does there. */
async function withStranger(
  plant: string,
  use: (url: string, admin: pg.Client, mallory: pg.Client) => Promise<void>,
): Promise<void> {
  const url = await server.createDatabase();
  await withClient(url, async (admin) => {
    await admin.query("GRANT ALL ON SCHEMA public TO mallory");
    await withClient(url.replace("postgres@", "mallory@"), async (mallory) => {
      await mallory.query("CREATE TABLE seen (who text); GRANT INSERT ON seen TO public");
      await mallory.query(plant);
      await use(url, admin, mallory);
    });
  });
}

async function seen(client: pg.Client): Promise<string[]> {
  return (await client.query<{ who: string }>("SELECT who FROM seen")).rows.map(({ who }) => who);
}

const trigger = (name: string) => `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql
  AS $$ BEGIN INSERT INTO public.seen SELECT current_user; RETURN NEW; END $$;`;

describe("a stranger who may create objects in the schema of a sync", () => {
  it("gets no call of a function of hers, whose types fit better than those of PostgreSQL's own", async () => {
    const functions = `CREATE FUNCTION hashtextextended(text, integer) RETURNS int8 LANGUAGE plpgsql
      AS $$ BEGIN INSERT INTO public.seen SELECT current_user; RETURN 1; END $$`;
    await withStranger(functions, async (url, _admin, mallory) => {
      await using sink = postgresSink(url);
      await sink.open(openingOf());
      await sink.createViews?.(calm.signal);
      expect(await sink.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm)).toMatchObject({
        outcome: "loaded",
      });
      expect(await seen(mallory)).toEqual([]);
    });
  });

  it("runs no trigger of a ledger, a table or a partition that she has made before", async () => {
    const ledger = `CREATE TABLE tradewire_sync (only_one bool PRIMARY KEY DEFAULT true, format int4, chain_id text, made_at timestamptz);
      ${trigger("watch")} CREATE TRIGGER watch BEFORE INSERT ON tradewire_sync FOR EACH ROW EXECUTE FUNCTION watch()`;
    await withStranger(ledger, async (url, _admin, mallory) => {
      await using sink = postgresSink(url);
      await expect(sink.open(openingOf())).rejects.toMatchObject(
        refused('tradewire_sync in the schema "public" belongs to the role "mallory"'),
      );
      await using looking = postgresSink(url);
      await expect(looking.inspect(calm.signal)).rejects.toMatchObject(refused('"mallory"'));
      expect(await seen(mallory)).toEqual([]);
    });
    const table = `CREATE TABLE blocks (_from_block int8)`;
    await withStranger(table, async (url) => {
      await using sink = postgresSink(url);
      await expect(sink.open(openingOf())).rejects.toMatchObject(refused("blocks in the schema"));
    });
    await withStranger("CREATE DOMAIN hugeint AS numeric", async (url) => {
      await using sink = postgresSink(url);
      await expect(sink.open(openingOf({ tables: ["trades"] }))).rejects.toMatchObject(
        refused("hugeint in the schema"),
      );
    });
  });

  it("runs no trigger on a table of the sync's own, where she was granted TRIGGER, and no rule stands on it", async () => {
    await withStranger(trigger("watch"), async (url, admin, mallory) => {
      {
        await using sink = postgresSink(url);
        await sink.open(openingOf());
      }
      await admin.query("GRANT TRIGGER ON tradewire_ledger TO mallory");
      await mallory.query(
        "CREATE TRIGGER watch BEFORE INSERT ON tradewire_ledger FOR EACH ROW EXECUTE FUNCTION watch()",
      );
      {
        await using sink = postgresSink(url);
        await expect(sink.open(openingOf())).rejects.toMatchObject(
          refused(
            'the trigger watch on tradewire_ledger in the schema "public" calls a function of the role "mallory"',
          ),
        );
      }
      await admin.query("DROP TRIGGER watch ON tradewire_ledger; CREATE RULE beside AS ON DELETE TO blocks DO NOTHING");
      await using sink = postgresSink(url);
      await expect(sink.open(openingOf())).rejects.toMatchObject(refused("the rule beside on blocks"));
    });
  });

  it("may own the schema only where she is named as trusted; a superuser may", async () => {
    const url = await server.createDatabase();
    await withClient(url, async (admin) => {
      await admin.query("CREATE SCHEMA hers AUTHORIZATION mallory; CREATE SCHEMA admins");
      await admin.query("GRANT ALL ON SCHEMA hers, admins TO keeper");
      const keeper = url.replace("postgres@", "keeper@");
      await using hers = postgresSink(keeper, { schema: "hers" });
      await expect(hers.open(openingOf())).rejects.toMatchObject(
        refused('the schema "hers" belongs to the role "mallory"'),
      );
      await using trusted = postgresSink(keeper, { schema: "hers", trustedOwners: ["mallory"] });
      await trusted.open(openingOf());
      await using admins = postgresSink(keeper, { schema: "admins" });
      await admins.open(openingOf());
      await admins.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm);
      expect(await count(admin, "admins.blocks")).toBe(10);
    });
  });

  it("is not asked for the schema public of a database of hers", async () => {
    await withClient(server.url, (admin) => admin.query("CREATE DATABASE hers OWNER mallory"));
    const url = server.url.replace(/postgres$/u, "hers");
    await using sink = postgresSink(url);
    await expect(sink.open(openingOf())).rejects.toMatchObject(
      refused('the schema "public" belongs to the role "mallory"'),
    );
  });

  it("gets no queue to run statements of hers", async () => {
    const url = await server.createDatabase();
    await withClient(url, async (admin) => {
      await admin.query("CREATE SCHEMA public_queue AUTHORIZATION mallory");
      await admin.query(
        "CREATE TABLE public_queue.version (version int); CREATE TABLE public_queue.tradewire_nodes ()",
      );
      await expect(queueStatus(postgresSink(url))).rejects.toMatchObject(
        refused('the schema "public_queue" belongs to the role "mallory"'),
      );
      await admin.query(
        "ALTER SCHEMA public_queue OWNER TO postgres; ALTER TABLE public_queue.version OWNER TO mallory",
      );
      const client = { listSegments: () => Promise.reject(), exportNetworkHistory: () => Promise.reject() };
      // @ts-expect-error -- It is never asked.
      await expect(runWorker(client, { sink: postgresSink(url) })).rejects.toMatchObject(
        refused('version in the schema "public_queue" belongs to the role "mallory"'),
      );
    });
  });
});
