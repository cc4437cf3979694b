/** The rules to apply where deployed v0.78 nodes differ from their published API documentation. */
export type Profile = "specification" | "deployed";

/** The differences. */
export interface ProfileRules {
  /** Whether the first chunk of an export must contain extensions. */
  readonly extensions: "required" | "optional";
  /** The use of the chain's identifier in a transaction of version TX_VERSION_V3. */
  readonly chainIdPrefix: "signed-and-submitted" | "signature-only";
  /** Which pages of orders and stop orders nodes support: all, or only forwards and newest first. */
  readonly orderPages: "all" | "newest-first";
  /** How archives and the files in them are named. */
  readonly names: NameRules;
}

interface NameRules {
  /** Which names contain the schema version: those of ranges that cross a change, or those of all files but no archive. */
  readonly versioned: "crossing" | "files";
  /** Minimum number of digits of a schema version, and of a block. */
  readonly versionDigits: number;
  readonly blockDigits: number;
}

/** The names of the profiles. */
export const profiles: readonly [Profile, Profile] = ["specification", "deployed"];

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
