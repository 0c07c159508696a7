/** What `npm run explore -- --operator sampledb` plays. */
export { subject } from "./subject.ts";
