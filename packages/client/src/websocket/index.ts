/** WebSocket framing for both ends of Kubernetes' streaming. */
export {
  WebSocketConnection,
  type WebSocketMessage,
  type WebSocketOptions,
  webSocketAccept,
} from "./connection.ts";
export { tunnel } from "./tunnel.ts";
