/**
 * The definitions of both services that stream events, and of all events. They are large, so they are loaded with the
 * first stream, by one import.
 */
export { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
export { CoreService } from "../../../gen/vega/api/v1/core_pb.js";
export { BusEventType } from "../../../gen/vega/events/v1/events_pb.js";
