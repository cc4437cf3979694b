import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { RequestError } from "../../base/errors/index.js";
import { assertDescriptor } from "../../base/input/assert.js";
import { methodName } from "../../wire/transport/method.js";

/** A page of records, as paged methods return it. */
export interface SentPage<M> {
  readonly edges: readonly { readonly cursor: string; readonly node?: M | undefined }[];
  readonly pageInfo?: { readonly hasNextPage: boolean; readonly endCursor: string } | undefined;
}

/** The connection in a message's type: the page, regardless of its field's name. */
type ConnectionOf<T> = Extract<{ [K in keyof T]-?: NonNullable<T[K]> }[keyof T], SentPage<Message>>;

/** The messages of the lists in a message's type. */
type ListedIn<T> = Extract<T[keyof T], readonly Message[]>[number];

/** The records of a response; of one that only its descriptor knows, any message. */
type RecordOf<T> = Message extends T
  ? Message
  : "nextPageToken" extends keyof T
    ? ListedIn<T>
    : NonNullable<ConnectionOf<T>["edges"][number]["node"]>;

/** What a response has if its pages are lists of any kind. */
type ListsOf<T> = "nextPageToken" extends keyof T ? Extract<T[keyof T], readonly unknown[]> : never;

interface NoPages {
  readonly "this method has no pages": never;
}

interface NoRecords {
  readonly "the pages of this method list no messages": never;
}

/**
 * A method with pages. Either its request has a `pagination`, and its response a connection of `edges` and `pageInfo`, or its
 * request has a `page_size` and a `page_token`, and its response a list and a `next_page_token`
 * ([AIP-158](https://google.aip.dev/158)).
 */
export type PagingMethod<M extends DescMethodUnary> = M &
  ([RecordOf<MessageShape<M["output"]>> | ListsOf<MessageShape<M["output"]>>] extends [never]
    ? NoPages
    : Message extends MessageShape<M["input"]>
      ? unknown
      : [Extract<keyof MessageShape<M["input"]>, "pagination" | "pageToken">] extends [never]
        ? NoPages
        : unknown);

/** A method with pages that list messages. */
export type ListingMethod<M extends DescMethodUnary> = PagingMethod<M> &
  ([NodeOf<M>] extends [never] ? NoRecords : unknown);

/** The records of the pages of a method, such as `Order` for `ListOrders`. */
export type NodeOf<M extends DescMethodUnary> = RecordOf<MessageShape<M["output"]>>;

export interface Connection {
  /** How pages are requested: by the cursors of the network's `pagination`, or by the page tokens of AIP-158. */
  readonly by: "cursors" | "tokens";
  /** The field of the response that contains a page: the connection, or the list of records. */
  readonly field: DescField;
  /** The type of the records; `undefined` for scalars and enums. */
  readonly node: DescMessage | undefined;
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
    throw new RequestError(`${methodName(method)} has no pages: ${lacking}`, {
      advice:
        paging.length === 0
          ? `Call the method directly: no method of ${typeName} has pages.`
          : `Call the method directly, or use a method of ${typeName} that has pages: ${paging.join(", ")}.`,
    });
  }
  found.set(method, lacking);
  return lacking;
}

/**
 * Returns the type of the records of a method.
 *
 * @throws {@link RequestError} if the method has no pages, or they do not list messages
 */
export function recordTypeOf(method: DescMethod): DescMessage {
  const { node } = connectionOf(method);
  if (node === undefined) {
    throw new RequestError(
      `${methodName(method)} has no records: its response ${method.output.typeName} lists no messages`,
      {
        advice: "Read the responses with pages().",
      },
    );
  }
  return node;
}

export function hasPages(method: DescMethod): boolean {
  return typeof lackingOf(method) !== "string";
}

/** Returns the connection of a method, or what is missing. */
function lackingOf(method: DescMethod): Connection | string {
  if (method.methodKind !== "unary") {
    return "it returns a stream";
  }
  return method.input.field["pageToken"] === undefined ? cursorsOf(method) : tokensOf(method);
}

/** Returns where a response has its records, as AIP-158 and AIP-4233 define it, or what is missing. */
function tokensOf({ input, output }: DescMethod): Connection | string {
  if (input.field["pageToken"]?.scalar !== ScalarType.STRING || input.field["pageSize"]?.scalar !== ScalarType.INT32) {
    return `its request ${input.typeName} does not have both a string page_token and an int32 page_size`;
  }
  if (output.field["nextPageToken"]?.scalar !== ScalarType.STRING) {
    return `its response ${output.typeName} has no string next_page_token`;
  }
  const all = output.fields.flatMap((field) =>
    field.fieldKind === "list" ? [{ by: "tokens" as const, field, node: field.message }] : [],
  );
  const lists = all.filter(({ node }) => node !== undefined);
  const [first = all[0]] = lists;
  if (first === undefined) {
    return `its response ${output.typeName} has no list`;
  }
  if (lists.some(({ field }) => field.number < first.field.number)) {
    const names = lists.map(({ field }) => field.name).join(" and ");
    return `its response ${output.typeName} has several lists, ${names}, and the first does not have the lowest number`;
  }
  return first;
}

function cursorsOf({ input, output }: DescMethod): Connection | string {
  const pagination = messageOf(input.field["pagination"]);
  if (pagination === undefined) {
    return `its request ${input.typeName} has no pagination`;
  }
  if (!["first", "after"].every((name) => pagination.field[name]?.fieldKind === "scalar")) {
    return `its pagination ${pagination.typeName} has no cursors (first and after)`;
  }
  const connections = output.fields.flatMap((field) => {
    const node = nodeOf(messageOf(field));
    return node === undefined ? [] : [{ by: "cursors" as const, field, node }];
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
