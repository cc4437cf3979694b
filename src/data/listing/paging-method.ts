import type { DescField, DescMessage, DescMethod, DescMethodUnary, Message, MessageShape } from "@bufbuild/protobuf";
import { RequestError } from "../../base/errors/index.js";
import { assertDescriptor } from "../../base/input/assert.js";

/** A page of records, as paged methods return it. */
export interface SentPage<M> {
  readonly edges: readonly { readonly cursor: string; readonly node?: M | undefined }[];
  readonly pageInfo?: { readonly hasNextPage: boolean; readonly endCursor: string } | undefined;
}

/** The connection in a message's type: the page, regardless of its field's name. */
type ConnectionOf<T> = Extract<{ [K in keyof T]-?: NonNullable<T[K]> }[keyof T], SentPage<Message>>;

/** The records of a message's connection; of a message that only its descriptor knows, any message. */
type RecordOf<T> = Message extends T ? Message : NonNullable<ConnectionOf<T>["edges"][number]["node"]>;

/** The type of a paged method, `never` for a method that is certainly not paged. */
type IfPages<M extends DescMethodUnary> = [RecordOf<MessageShape<M["output"]>>] extends [never]
  ? never
  : Message extends MessageShape<M["input"]>
    ? M
    : "pagination" extends keyof MessageShape<M["input"]>
      ? M
      : never;

/** A paged method: its request has a `pagination`, its response a connection of `edges` and `pageInfo`. */
export type PagingMethod<M extends DescMethodUnary> = M & IfPages<M>;

/** The records of the pages of a method, such as `Order` for `ListOrders`. */
export type NodeOf<M extends DescMethodUnary> = RecordOf<MessageShape<M["output"]>>;

export interface Connection {
  /** The field of the response that contains a page. */
  readonly field: DescField;
  /** The type of the records. */
  readonly node: DescMessage;
}

const found = new WeakMap<DescMethod, Connection>();

/**
 * Returns where the pages of a method are. The result is cached.
 *
 * @throws {@link RequestError} if the method is not paged; the error says what is missing
 */
export function connectionOf(method: DescMethod): Connection {
  assertDescriptor(method, "rpc", "TradingDataService.method.listOrders");
  const known = found.get(method);
  if (known !== undefined) {
    return known;
  }
  const lacking = lackingOf(method);
  if (typeof lacking === "string") {
    const { typeName, methods } = method.parent;
    const paging = methods.filter((other) => typeof lackingOf(other) !== "string").map(({ name }) => name);
    throw new RequestError(`${typeName}/${method.name} has no pages: ${lacking}`, {
      advice:
        paging.length === 0
          ? `Call the method directly: no method of ${typeName} has pages.`
          : `Call the method directly, or use a method of ${typeName} that has pages: ${paging.join(", ")}.`,
    });
  }
  found.set(method, lacking);
  return lacking;
}

export function pages(method: DescMethod): boolean {
  return typeof lackingOf(method) !== "string";
}

/** Returns the connection of a method, or what is missing. */
function lackingOf({ methodKind, input, output }: DescMethod): Connection | string {
  if (methodKind !== "unary") {
    return "it returns a stream";
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
    return `its response ${output.typeName} contains no connection (edges with cursors, and page_info)`;
  }
  if (others.length > 0) {
    const names = connections.map(({ field }) => field.name).join(" and ");
    return `its response ${output.typeName} contains more than one connection, ${names}`;
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
