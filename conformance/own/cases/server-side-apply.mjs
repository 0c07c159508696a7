// Server-side apply: versions, subresources, lists and maps, managers, conflicts, requests that are refused.
import clientSideApplyMigrate from "./server-side-apply/client-side-apply-migrate.mjs";
import customresourcesApply from "./server-side-apply/customresources-apply.mjs";
import kindsApply from "./server-side-apply/kinds-apply.mjs";
import listsApply from "./server-side-apply/lists-apply.mjs";
import managersApply from "./server-side-apply/managers-apply.mjs";
import requestsApply from "./server-side-apply/requests-apply.mjs";
import scaleApply from "./server-side-apply/scale-apply.mjs";
import statusApply from "./server-side-apply/status-apply.mjs";
import versionsApply from "./server-side-apply/versions-apply.mjs";

export default [
  ...versionsApply,
  ...scaleApply,
  ...statusApply,
  ...clientSideApplyMigrate,
  ...listsApply,
  ...managersApply,
  ...requestsApply,
  ...customresourcesApply,
  ...kindsApply,
];
