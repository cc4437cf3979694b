import type { Client, TableName } from "tradewire";
import type { PageInfo } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";

/** Which page to ask for. */
export interface Paging {
  readonly first?: number;
  readonly after?: string;
  readonly last?: number;
  readonly before?: string;
}

/** A page of a listing. */
export interface PageOf<N> {
  readonly edges: readonly { readonly node?: N | undefined; readonly cursor: string }[];
  readonly pageInfo?: PageInfo | undefined;
}

/** Read all records of a listing, page by page. */
export async function allPages<N extends object>(
  list: (pagination: Paging) => Promise<PageOf<N> | undefined>,
  size = 5000,
  backwards = false,
): Promise<N[]> {
  const found: N[] = [];
  let cursor: string | undefined;
  let more: boolean | undefined = true;
  while (more) {
    const at = cursor === undefined ? {} : backwards ? { before: cursor } : { after: cursor };
    const page: PageOf<N> | undefined = await list({ ...(backwards ? { last: size } : { first: size }), ...at });
    const records = (page?.edges ?? []).flatMap(({ node }) => (node === undefined ? [] : [node]));
    found.splice(backwards ? 0 : found.length, 0, ...records);
    more = backwards ? page?.pageInfo?.hasPreviousPage : page?.pageInfo?.hasNextPage;
    cursor = backwards ? page?.pageInfo?.startCursor : page?.pageInfo?.endCursor;
  }
  return found;
}

/** Export a table from its first block on. */
export async function exportedRows(
  client: Client,
  table: TableName,
  toBlock: number,
): Promise<Record<string, string | null>[]> {
  const rows = [];
  for await (const row of client.exportNetworkHistory({ table, fromBlock: 1, toBlock }).rows()) {
    rows.push(row);
  }
  return rows;
}
