// Custom resource definitions: what is refused and why, and what their schemas and rules do to objects.
import definitionsCreate from "./customresourcedefinitions/definitions-create.mjs";
import definitionsUpdate from "./customresourcedefinitions/definitions-update.mjs";
import rulesCompile from "./customresourcedefinitions/rules-compile.mjs";
import schemasCreate from "./customresourcedefinitions/schemas-create.mjs";
import widgetsCreate from "./customresourcedefinitions/widgets-create.mjs";
import widgetsSubresources from "./customresourcedefinitions/widgets-subresources.mjs";
import widgetsUpdate from "./customresourcedefinitions/widgets-update.mjs";

export default [
  ...schemasCreate,
  ...rulesCompile,
  ...definitionsCreate,
  ...definitionsUpdate,
  ...widgetsCreate,
  ...widgetsUpdate,
  ...widgetsSubresources,
];
