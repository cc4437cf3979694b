import { create } from "@bufbuild/protobuf";
import type { UpdatePartyProfile } from "../../../gen/vega/commands/v1/commands_pb.js";
import { PartyProfileUpdatedSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { PartyProfileSchema } from "../../../gen/vega/vega_pb.js";
import type { ExecutionContext } from "./engine-state.js";

/** Updates a party's profile (`core/parties/engine.go`). Aliases are unique. */
export function updateProfile(
  context: ExecutionContext,
  partyId: string,
  { alias, metadata }: UpdatePartyProfile,
): string | undefined {
  const { profiles } = context.state;
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
  context.emit({ case: "partyProfileUpdated", value: create(PartyProfileUpdatedSchema, { updatedProfile }) });
  return undefined;
}
