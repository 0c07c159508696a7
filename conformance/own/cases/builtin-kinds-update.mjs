// What may change in built-in objects once they exist, and what a change does.
import autoscalersUpdate from "./builtin-kinds-update/autoscalers-update.mjs";
import otherKindsUpdate from "./builtin-kinds-update/other-kinds-update.mjs";
import podsUpdate from "./builtin-kinds-update/pods-update.mjs";
import servicesUpdate from "./builtin-kinds-update/services-update.mjs";
import volumesUpdate from "./builtin-kinds-update/volumes-update.mjs";
import workloadsUpdate from "./builtin-kinds-update/workloads-update.mjs";

export default [
  ...podsUpdate,
  ...workloadsUpdate,
  ...servicesUpdate,
  ...volumesUpdate,
  ...autoscalersUpdate,
  ...otherKindsUpdate,
];
