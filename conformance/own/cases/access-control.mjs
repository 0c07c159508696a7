// Who may do what: roles, escalation, impersonation, access reviews, tokens.
import accessReviewsCreate from "./access-control/access-reviews-create.mjs";
import rolebindingsAuthorize from "./access-control/rolebindings-authorize.mjs";
import rolesCreate from "./access-control/roles-create.mjs";
import tokensCreate from "./access-control/tokens-create.mjs";
import usersImpersonate from "./access-control/users-impersonate.mjs";

export default [
  ...rolebindingsAuthorize,
  ...rolesCreate,
  ...accessReviewsCreate,
  ...usersImpersonate,
  ...tokensCreate,
];
