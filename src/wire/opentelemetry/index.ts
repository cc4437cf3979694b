/**
 * Reports calls as spans and metrics of OpenTelemetry.
 *
 * @module tradewire/opentelemetry
 */

export { type OpenTelemetryOptions, type OpenTelemetryParts, openTelemetry } from "./open-telemetry.js";
