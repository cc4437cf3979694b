// The measurement of leases, on the local node: programs with leased orders and positions are killed by SIGKILL.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "@jest/globals";

const LEASE_MS = 4000;
const FLATTEN_MS = 5000;
const BLOCK_MS = 100;

interface Since {
  readonly blocks: number;
  readonly ms: number;
}

interface Round {
  readonly orders: number;
  readonly positions: number;
  readonly ordersGone?: Since;
  readonly positionsClosed?: Since;
}

it("nothing of a killed program is left after its leases", async () => {
  const times = ["--lease-ms", LEASE_MS, "--renew-every-ms", 1000, "--flatten-after-ms", FLATTEN_MS];
  const args = ["test/endurance/leases.mjs", "--json", "--rounds", 3, "--block-ms", BLOCK_MS, ...times];
  const { stdout } = await promisify(execFile)(process.execPath, args.map(String));
  const rounds: readonly Round[] = JSON.parse(stdout);
  expect(rounds).toHaveLength(3);
  for (const { orders, positions, ordersGone, positionsClosed } of rounds) {
    expect({ orders, positions }).toEqual({ orders: 16, positions: 2 }); // They were there, and had been renewed.
    expect(ordersGone?.ms).toBeLessThanOrEqual(LEASE_MS + 3 * BLOCK_MS);
    expect(positionsClosed?.ms).toBeLessThanOrEqual(FLATTEN_MS + 3 * BLOCK_MS);
    expect(ordersGone?.blocks).toBeLessThanOrEqual(LEASE_MS / BLOCK_MS + 3);
    expect(positionsClosed?.blocks).toBeLessThanOrEqual(FLATTEN_MS / BLOCK_MS + 3);
  }
}, 240_000);
