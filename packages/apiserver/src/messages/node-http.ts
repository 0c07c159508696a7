/**
 * Node's HTTP, without what importing it as an ES module costs: that evaluates every export, and with them
 * loads fetch and WebSocket, which nobody here uses, at each start.
 */
export const { createServer, request, ServerResponse, STATUS_CODES } = process.getBuiltinModule("node:http");
