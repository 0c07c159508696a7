/** What our own packages need of client. No promise is made for it: it may change in any release. */
export { type Decoder, Decoding, uidIn, versionIn } from "./objects/received.ts";
export { systemProcess } from "./system.ts";
export type { Transport } from "./transport/transport.ts";
export { type ReceivingClient, receivingKind } from "./verbs/create-client.ts";
