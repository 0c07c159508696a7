// What is invalid in built-in objects: the fields, the reasons, the order in which they are reported.
import networkValidate from "./builtin-kinds-validate/network-validate.mjs";
import podsValidate from "./builtin-kinds-validate/pods-validate.mjs";
import volumesValidate from "./builtin-kinds-validate/volumes-validate.mjs";
import workloadsValidate from "./builtin-kinds-validate/workloads-validate.mjs";

export default [...podsValidate, ...workloadsValidate, ...networkValidate, ...volumesValidate];
