// Built-in kinds: what is invalid in them one fault at a time, what may change, quotas and limits.
import eventsCreate from "./builtin-kinds-create/events-create.mjs";
import limitsCreate from "./builtin-kinds-create/limits-create.mjs";
import objectsUpdate from "./builtin-kinds-create/objects-update.mjs";
import podsCreate from "./builtin-kinds-create/pods-create.mjs";
import secretsCreate from "./builtin-kinds-create/secrets-create.mjs";
import servicesCreate from "./builtin-kinds-create/services-create.mjs";
import workloadsCreate from "./builtin-kinds-create/workloads-create.mjs";

export default [
  ...podsCreate,
  ...workloadsCreate,
  ...servicesCreate,
  ...secretsCreate,
  ...limitsCreate,
  ...eventsCreate,
  ...objectsUpdate,
];
