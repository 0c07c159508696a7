/** What our own packages need of this one; not part of the public API. */
export { writeApp } from "./build/write-app.ts";
