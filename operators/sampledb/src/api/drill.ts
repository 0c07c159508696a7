/** Drill: a failure of a SampleDB on purpose. */
import { drillKind } from "@keelson/kit";

export const Drill = drillKind("sampledb.keelson.dev");
