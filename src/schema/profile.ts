/** How a node behaves where deployed nodes differ from the specification. */
export type Profile = "specification" | "deployed";

/** What differs. */
export interface ProfileRules {
  /** Whether the first chunk of an export must carry extensions (specification, 2.7). */
  readonly extensions: "required" | "optional";
  /** Where the chain's identifier goes in a transaction of version TX_VERSION_V3 (specification, 2.5). */
  readonly chainIdPrefix: "signed-and-submitted" | "signature-only";
}

/** The names of the profiles. */
export const profiles: readonly [Profile, Profile] = ["specification", "deployed"];

/** The rules of each profile. */
export const profileRules: { readonly [name in Profile]: ProfileRules } = {
  specification: { extensions: "required", chainIdPrefix: "signed-and-submitted" },
  deployed: { extensions: "optional", chainIdPrefix: "signature-only" },
};
