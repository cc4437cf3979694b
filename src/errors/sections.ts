import { Code } from "@connectrpc/connect";

/** The sections of docs/errors.md that errors point to, by their anchors: that of a class, or a topic of it. */
export const ERROR_SECTIONS = [
  "tradewireerror",
  "requesterror",
  "requesterror-configuration",
  "requesterror-missing-package",
  "nodeerror",
  "nodeerror-request-refused",
  "nodeerror-not-found",
  "nodeerror-credentials",
  "nodeerror-not-offered",
  "nodeerror-not-now",
  "connectionerror-not-reached",
  "connectionerror-lost",
  "connectionerror-time-was-up",
  "connectionerror-closed",
  "connectionerror-not-listening",
  "protocolerror",
  "protocolerror-answer",
  "protocolerror-archive",
  "protocolerror-csv",
  "protocolerror-too-large",
  "protocolerror-another-history",
  "commanderror",
  "transactionerror",
  "outcomeunknownerror",
  "slowconsumererror",
  "bannederror",
  "fileerror",
  "fileerror-exists-already",
  "fileerror-not-there",
  "fileerror-not-permitted",
  "fileerror-disk-full",
  "cancelederror",
  "sinkerror",
  "sinkerror-not-reached",
  "sinkerror-credentials",
  "sinkerror-in-the-way",
  "sinkerror-full",
  "partingerror",
] as const;

/** A section of docs/errors.md. */
export type ErrorSection = (typeof ERROR_SECTIONS)[number];

type Sections = Readonly<Partial<Record<Code, ErrorSection>>>;

/** Sections by the code of an error of the class; where there is none, that of the class holds. */
export const NODE_SECTIONS: Sections = {
  [Code.InvalidArgument]: "nodeerror-request-refused",
  [Code.OutOfRange]: "nodeerror-request-refused",
  [Code.FailedPrecondition]: "nodeerror-request-refused",
  [Code.NotFound]: "nodeerror-not-found",
  [Code.Unauthenticated]: "nodeerror-credentials",
  [Code.PermissionDenied]: "nodeerror-credentials",
  [Code.Unimplemented]: "nodeerror-not-offered",
  [Code.ResourceExhausted]: "nodeerror-not-now",
  [Code.Unavailable]: "nodeerror-not-now",
  [Code.Aborted]: "nodeerror-not-now",
  [Code.DeadlineExceeded]: "nodeerror-not-now",
};

export const PROTOCOL_SECTIONS: Sections = {
  [Code.Internal]: "protocolerror-answer",
  [Code.Unimplemented]: "protocolerror-answer",
  [Code.ResourceExhausted]: "protocolerror-too-large",
  [Code.FailedPrecondition]: "protocolerror-another-history",
};

export const FILE_SECTIONS: Sections = {
  [Code.AlreadyExists]: "fileerror-exists-already",
  [Code.NotFound]: "fileerror-not-there",
  [Code.PermissionDenied]: "fileerror-not-permitted",
  [Code.ResourceExhausted]: "fileerror-disk-full",
};

export const SINK_SECTIONS: Sections = {
  [Code.Unavailable]: "sinkerror-not-reached",
  [Code.Aborted]: "sinkerror-in-the-way",
  [Code.Unauthenticated]: "sinkerror-credentials",
  [Code.PermissionDenied]: "sinkerror-credentials",
  [Code.ResourceExhausted]: "sinkerror-full",
};
