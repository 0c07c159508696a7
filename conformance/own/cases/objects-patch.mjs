// JSON, merge and strategic merge patches: what they do, and everything that can be wrong with them.
import configmapsReplace from "./objects-patch/configmaps-replace.mjs";
import jsonPatch from "./objects-patch/json-patch.mjs";
import mergePatch from "./objects-patch/merge-patch.mjs";
import strategicMergePatch from "./objects-patch/strategic-merge-patch.mjs";
import widgetsPatch from "./objects-patch/widgets-patch.mjs";

export default [...jsonPatch, ...mergePatch, ...strategicMergePatch, ...widgetsPatch, ...configmapsReplace];
