export { anyToObject } from "../../../src/wire/json/any.js";
export { httpBodyFromJson } from "../../../src/wire/json/http-body.js";
export { messageFromJson, requestToJson, unsizedMessageFromJson } from "../../../src/wire/json/message-json.js";
