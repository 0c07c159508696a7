/** What our own packages need of the runtime. No promise is made for it: it may change in any release. */
export { internalsOf, type OperatorInternals } from "./operator/running.ts";
