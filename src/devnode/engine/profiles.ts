import { create } from "@bufbuild/protobuf";
import type { UpdatePartyProfile } from "../../../gen/vega/commands/v1/commands_pb.js";
import { PartyProfileUpdatedSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { PartyProfileSchema } from "../../../gen/vega/vega_pb.js";
import type { Work } from "./state.js";

/**
 * Update the profile of a party (`core/parties/engine.go`). No two parties have the same alias.
 *
 * @param work the block
 * @param partyId the party
 * @param command its alias and metadata, which take the place of those before
 * @returns why nothing was changed, if so
 */
export function updateProfile(
  work: Work,
  partyId: string,
  { alias, metadata }: UpdatePartyProfile,
): string | undefined {
  const { profiles } = work.state.registers;
  const reason =
    alias === "network"
      ? "this alias is reserved"
      : alias !== "" && [...profiles.values()].some((other) => other.partyId !== partyId && other.alias === alias)
        ? `alias "${alias}" is already taken`
        : undefined;
  if (reason !== undefined) {
    return `couldn't update profile: invalid profile update: ${reason}`;
  }
  const updatedProfile = create(PartyProfileSchema, { partyId, alias, metadata });
  profiles.set(partyId, updatedProfile);
  work.emit({ case: "partyProfileUpdated", value: create(PartyProfileUpdatedSchema, { updatedProfile }) });
  return undefined;
}
