/** Admission for the Cache of the guide: a webhook and a policy. */
import { admissionPolicy, deny, webhook } from "keelson";
import { Cache } from "./cache.ts";

export const cacheWebhook = webhook(Cache, {
  mutate: (cache) => {
    cache.spec.zone ??= "eu-1";
  },
  validate: (cache, { oldObject, user, warn }) => {
    if (oldObject && cache.spec.size < oldObject.spec.size && !user.groups.includes("cache-admins")) {
      return deny("only cache-admins may shrink a cache", { field: "spec.size" });
    }
    if (cache.spec.size > 7) warn(`${cache.spec.size} servers cost money`);
    return undefined;
  },
});

export const cachePolicy = admissionPolicy(Cache, {
  name: "caches-have-an-owner",
  validations: [
    { expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: "who pays?" },
  ],
});
