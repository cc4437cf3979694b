// The face of `tradewire/opentelemetry`: calls as spans and metrics of OpenTelemetry.

export { type OpenTelemetryOptions, type OpenTelemetryParts, openTelemetry } from "./open-telemetry.js";
