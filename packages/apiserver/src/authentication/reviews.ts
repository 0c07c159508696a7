/** TokenReview and SelfSubjectReview: who a token, or the client itself, is. */
import { formatTime, type JsonObject } from "@keelson/core";
import type { UserInfo } from "../contracts/authentication.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginContext } from "../contracts/plugin.ts";
import { badRequest, StatusError } from "../contracts/status-error.ts";
import type { VirtualResource } from "../contracts/virtual-resource.ts";
import { type ServiceAccountTokens, TokenError } from "./service-account-tokens.ts";

export function tokenReviews(context: PluginContext, tokens: ServiceAccountTokens): VirtualResource {
  const review = async (token: string, audiences: readonly string[]): Promise<JsonObject> => {
    const wanted = audiences.length > 0 ? audiences : tokens.audiences;
    try {
      const verified = tokens.verify(token, wanted);
      if (verified)
        return {
          authenticated: true,
          user: userJson(withAuthenticated(verified.user)),
          audiences: [...verified.audiences],
        };
      const user = await context.authenticate({ headers: { authorization: `Bearer ${token}` } });
      if (!user) return { user: {}, error: "invalid bearer token" };
      return {
        authenticated: true,
        user: userJson(withAuthenticated(user)),
        ...(audiences.length === 0 && { audiences: [...wanted] }),
      };
    } catch (error) {
      if (error instanceof TokenError) return { user: {}, error: `[invalid bearer token, ${error.message}]` };
      if (error instanceof StatusError) return { user: {}, error: error.message };
      throw error;
    }
  };
  return {
    async create(object) {
      const spec = (object.spec ?? {}) as { token?: string; audiences?: string[] };
      if (!spec.token) throw badRequest("token is required for TokenReview in authentication");
      return { ...object, status: await review(spec.token, spec.audiences ?? []) };
    },
  };
}

export function selfSubjectReviews({ clock }: PluginContext): VirtualResource {
  return {
    create: (object, { user }) => ({
      ...object,
      metadata: { creationTimestamp: formatTime(clock.now()) } as unknown as ApiObject["metadata"],
      status: { userInfo: userJson(user) },
    }),
  };
}

function withAuthenticated(user: UserInfo): UserInfo {
  if (user.groups.includes("system:authenticated")) return user;
  return { ...user, groups: [...user.groups, "system:authenticated"] };
}

/** `UserInfo` of the authentication API. */
export function userJson({ name, uid, groups, extra }: UserInfo): JsonObject {
  const out: JsonObject = { username: name };
  if (uid) out.uid = uid;
  if (groups.length > 0) out.groups = [...groups];
  const keys = Object.keys(extra ?? {});
  if (keys.length > 0) out.extra = Object.fromEntries(keys.map((key) => [key, [...(extra?.[key] ?? [])]]));
  return out;
}
