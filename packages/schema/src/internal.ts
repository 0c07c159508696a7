/** What our own packages need of schema. No promise is made for it: it may change in any release. */
export { type SampleOptions, sampleObject } from "./sample.ts";
