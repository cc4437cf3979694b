import type { DescField, DescMessage, DescMethod, DescMethodUnary, Message, MessageShape } from "@bufbuild/protobuf";
import { requireDescriptor } from "../errors/check-kinds.js";
import { RequestError } from "../errors/index.js";

/** A page of records, as the methods that page answer with it (specification, 2.2). */
export interface SentPage<M> {
  readonly edges: readonly { readonly cursor: string; readonly node?: M | undefined }[];
  readonly pageInfo?: { readonly hasNextPage: boolean; readonly endCursor: string } | undefined;
}

/** The connection in a message's type: the page, whatever its field is called. */
type ConnectionOf<T> = Extract<{ [K in keyof T]-?: NonNullable<T[K]> }[keyof T], SentPage<Message>>;

/** The records of a message's connection; of a message that only its descriptor knows, any message. */
type RecordOf<T> = Message extends T ? Message : NonNullable<ConnectionOf<T>["edges"][number]["node"]>;

/** A type for what pages, `never` for what certainly does not. */
type IfPages<M extends DescMethodUnary> = [RecordOf<MessageShape<M["output"]>>] extends [never]
  ? never
  : Message extends MessageShape<M["input"]>
    ? M
    : "pagination" extends keyof MessageShape<M["input"]>
      ? M
      : never;

/** A method that pages: its request has a `pagination`, its answer a connection of `edges` and `pageInfo`. */
export type PagingMethod<M extends DescMethodUnary> = M & IfPages<M>;

/** The records of the pages of a method, such as `Order` for `ListOrders`. */
export type NodeOf<M extends DescMethodUnary> = RecordOf<MessageShape<M["output"]>>;

/** Where the pages of a method are. */
export interface Connection {
  /** The field of the answer that holds a page. */
  readonly field: DescField;
  /** The type of the records. */
  readonly node: DescMessage;
}

const found = new WeakMap<DescMethod, Connection>();

/**
 * Find where the pages of a method are. Each method is looked at once.
 *
 * @param method the method's descriptor
 * @returns the field of its answer that holds a page, and the type of the records
 * @throws {@link RequestError} where the method does not page; it says what is lacking
 */
export function connectionOf(method: DescMethod): Connection {
  requireDescriptor(method, "rpc", "TradingDataService.method.listOrders");
  const known = found.get(method);
  if (known !== undefined) {
    return known;
  }
  const lacking = lackingOf(method);
  if (typeof lacking === "string") {
    const { typeName, methods } = method.parent;
    const paging = methods.filter((other) => typeof lackingOf(other) !== "string").map(({ name }) => name);
    throw new RequestError(`${typeName}/${method.name} does not page: ${lacking}`, {
      advice:
        paging.length === 0
          ? `Call it as it is; no method of ${typeName} pages.`
          : `Call it as it is, or choose a method of ${typeName} that pages: ${paging.join(", ")}.`,
    });
  }
  found.set(method, lacking);
  return lacking;
}

/**
 * Whether a method pages.
 *
 * @param method the method's descriptor
 * @returns true where its request has a `pagination` by cursors, and its answer one connection
 */
export function pages(method: DescMethod): boolean {
  return typeof lackingOf(method) !== "string";
}

/** The connection of a method, or what it lacks to page. */
function lackingOf({ methodKind, input, output }: DescMethod): Connection | string {
  if (methodKind !== "unary") {
    return "it streams";
  }
  const pagination = messageOf(input.field["pagination"]);
  if (pagination === undefined) {
    return `its request ${input.typeName} has no pagination`;
  }
  if (!["first", "after"].every((name) => pagination.field[name]?.fieldKind === "scalar")) {
    return `its pagination ${pagination.typeName} has no cursors (first and after)`;
  }
  const connections = output.fields.flatMap((field) => {
    const node = nodeOf(messageOf(field));
    return node === undefined ? [] : [{ field, node }];
  });
  const [connection, ...others] = connections;
  if (connection === undefined) {
    return `its answer ${output.typeName} holds no connection (edges with cursors, and page_info)`;
  }
  if (others.length > 0) {
    const names = connections.map(({ field }) => field.name).join(" and ");
    return `its answer ${output.typeName} holds more than one connection, ${names}`;
  }
  return connection;
}

/** The type of a connection's records; undefined for another message. */
function nodeOf(connection: DescMessage | undefined): DescMessage | undefined {
  const edges = connection?.field["edges"];
  const pageInfo = messageOf(connection?.field["pageInfo"]);
  if (edges?.fieldKind !== "list" || edges.listKind !== "message" || pageInfo === undefined) {
    return undefined;
  }
  const isPageInfo = pageInfo.field["hasNextPage"] !== undefined && pageInfo.field["endCursor"] !== undefined;
  return isPageInfo && edges.message.field["cursor"] !== undefined ? messageOf(edges.message.field["node"]) : undefined;
}

function messageOf(field: DescField | undefined): DescMessage | undefined {
  return field?.fieldKind === "message" ? field.message : undefined;
}
