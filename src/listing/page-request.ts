import { clone, create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { RequestError } from "../errors/index.js";
import { readInit } from "../given/init.js";
import { cursor, pageSize } from "./pagination.js";

/** The request of a method that pages. */
export interface PagedRequest {
  /** The size of a page that it asks for, if any. */
  readonly first: number | undefined;
  /** The cursor after which it starts, if any. */
  readonly after: string | undefined;
  /** Whether the newest records come first, if it says so. */
  readonly newestFirst: boolean | undefined;
  /**
   * Make the request for a page.
   *
   * @param page its size in records, and the cursor after which it starts
   * @returns the request, in all else the same
   */
  pageRequest(page: { readonly first: number; readonly after: string | undefined }): Message;
}

/**
 * Read the request of a method that pages.
 *
 * @param desc the request's type, which has a `pagination`
 * @param init the request; by default an empty one
 * @returns where its pages start, and how that of each page is made
 * @throws {@link RequestError} where a field does not exist or has a wrong value, or its pagination goes backwards
 */
export function readRequest<I extends DescMessage>(desc: I, init: MessageInitShape<I> | undefined): PagedRequest {
  const request = clone(desc, create(desc, init === undefined ? init : readInit(desc, init)));
  const asked = paginationOf(desc, request);
  for (const name of ["last", "before"]) {
    if (givenIn(asked, name) !== undefined) {
      throw new RequestError(`the request has pagination.${name}, but all pages are asked for, and they go forwards`, {
        advice: "Leave it out: newestFirst sets the order, after where to start; or call the method for a single page.",
      });
    }
  }
  const first = givenIn(asked, "first");
  const after = givenIn(asked, "after");
  const newestFirst = givenIn(asked, "newestFirst");
  return {
    first: typeof first === "number" ? pageSize(first, "first") : undefined,
    after: typeof after === "string" ? cursor(after, "after") : undefined,
    newestFirst: typeof newestFirst === "boolean" ? newestFirst : undefined,
    pageRequest(page) {
      const next = clone(desc, request);
      const pagination = paginationOf(desc, next);
      setValue(pagination, "first", page.first);
      setValue(pagination, "after", page.after);
      return next;
    },
  };
}

/** The pagination of a request, which is added where it is missing. */
function paginationOf(desc: DescMessage, request: Message): ReflectMessage {
  const field = desc.field["pagination"];
  if (field?.fieldKind !== "message") {
    throw new Error(`${desc.typeName} has no pagination`);
  }
  const message = reflect(desc, request);
  if (!message.isSet(field)) {
    message.set(field, reflect(field.message));
  }
  return message.get(field);
}

function givenIn(message: ReflectMessage, name: string): unknown {
  const field = message.desc.field[name];
  return field !== undefined && message.isSet(field) ? message.get(field) : undefined;
}

function setValue(message: ReflectMessage, name: string, value: number | string | undefined): void {
  const field = message.desc.field[name];
  if (field !== undefined && value !== undefined) {
    message.set(field, value);
  }
}
