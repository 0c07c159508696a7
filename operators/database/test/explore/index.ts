/** What `npm run explore -- --operator database` plays. */
export { subject } from "./subject.ts";
