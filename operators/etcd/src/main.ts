/** Runs the etcd operator. */
import { operator } from "keelson";
import { controllers } from "./controllers.ts";

await operator({ name: "etcd-operator", controllers }).run();
