/** The answer to a request that no authorizer allowed. */
import type { Attributes } from "./authorization.ts";
import { failure, forbidden } from "./status-error.ts";

/** The 403 of a request that nobody allowed. */
export function denied(attributes: Attributes, reason: string) {
  const { user, verb, group, resource, subresource, namespace, name, path } = attributes;
  const suffix = reason ? `: ${reason}` : "";
  if (!attributes.resourceRequest)
    return failure({
      code: 403,
      reason: "Forbidden",
      message: `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}${suffix}`,
      details: {},
    });
  const what = subresource ? `${resource}/${subresource}` : resource;
  const where = namespace ? ` in the namespace ${JSON.stringify(namespace)}` : " at the cluster scope";
  return forbidden(
    { group, resource },
    name,
    `User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)}${where}${suffix}`,
  );
}
