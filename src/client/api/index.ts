/**
 * The network's whole interface: its services, and every type by its package, because some names exist in several packages. Only
 * imports of this entry point load the generated code.
 *
 * @module tradewire/api
 */

export { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
export { CoreService } from "../../../gen/vega/api/v1/core_pb.js";
export { CoreStateService } from "../../../gen/vega/api/v1/corestate_pb.js";
export * as vegaEventsV1 from "../../../gen/vega/events/v1/events_pb.js";
export * as datanodeApiV2 from "./datanode-api-v2.js";
export * as vega from "./vega.js";
export * as vegaApiV1 from "./vega-api-v1.js";
export * as vegaCommandsV1 from "./vega-commands-v1.js";
export * as vegaDataV1 from "./vega-data-v1.js";
