/** The Memcached operator. */
export { Memcached } from "./api.ts";
export { memcached } from "./controller.ts";
