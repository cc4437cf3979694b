/** How a node behaves where deployed nodes differ from the specification. */
export type Profile = "specification" | "deployed";

/** What differs. */
export interface ProfileRules {
  /** Whether the first chunk of an export must carry extensions (specification, 2.7). */
  readonly extensions: "required" | "optional";
  /** Where the chain's identifier goes in a transaction of version TX_VERSION_V3 (specification, 2.5). */
  readonly chainIdPrefix: "signed-and-submitted" | "signature-only";
  /** Which pages of orders and stop orders there are (specification, 2.1): all, or forwards and newest first only. */
  readonly orderPages: "all" | "newest-first";
  /** How archives and the files in them are named (specification, 4.1). */
  readonly names: NameRules;
}

/** The form of names. */
export interface NameRules {
  /** What has the schema version: `crossing` ranges alone, archive and files alike, or all `files` and no archive. */
  readonly versioned: "crossing" | "files";
  /** The least digits of a schema version, and of a block's number. */
  readonly versionDigits: number;
  readonly blockDigits: number;
}

/** The names of the profiles. */
export const profiles: readonly [Profile, Profile] = ["specification", "deployed"];

/** The rules of each profile. */
export const profileRules: { readonly [name in Profile]: ProfileRules } = {
  specification: {
    extensions: "required",
    chainIdPrefix: "signed-and-submitted",
    orderPages: "all",
    names: { versioned: "crossing", versionDigits: 1, blockDigits: 1 },
  },
  deployed: {
    extensions: "optional",
    chainIdPrefix: "signature-only",
    orderPages: "newest-first",
    names: { versioned: "files", versionDigits: 3, blockDigits: 6 },
  },
};
