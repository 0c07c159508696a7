/** MutatingAdmissionWebhook and ValidatingAdmissionWebhook. */
import { deepEqual } from "@keelson/core";
import { applyJsonPatch, MergeError } from "@keelson/core/internal/merge";
import type { AdmissionPlugin, AdmissionRequest } from "../../contracts/admission.ts";
import type { ApiObject } from "../../contracts/object.ts";
import type { PluginContext } from "../../contracts/plugin.ts";
import { internalError } from "../../contracts/status-error.ts";
import { isExempt } from "../matching.ts";
import { roundsOf } from "../reinvocation.ts";
import { type ConfiguredWebhook, ConfiguredWebhooks } from "./configurations.ts";
import { type Invocation, WebhookDispatcher } from "./dispatch.ts";
import { CallFailure } from "./failures.ts";
import type { Answer } from "./review.ts";

/** Forgives a failure to ask where the webhook says so. */
function settle(error: unknown, { ignoresFailures }: ConfiguredWebhook): void {
  if (!(error instanceof CallFailure)) throw error;
  if (!ignoresFailures) throw internalError(error.message, error);
}

export function mutatingAdmissionWebhook(context: PluginContext): AdmissionPlugin {
  const name = "MutatingAdmissionWebhook";
  const configured = new ConfiguredWebhooks(context.store, "mutatingwebhookconfigurations");
  const dispatcher = new WebhookDispatcher(context, true);

  /** One after the other: each sees what those before it made. */
  const admit = async (request: AdmissionRequest): Promise<void> => {
    const step = roundsOf(request).of(name);
    step.begin(request);
    for (const webhook of configured.list) {
      const invocation = await dispatcher.invocation(webhook, request);
      if (!invocation || step.skips(webhook.key)) continue;
      let changed = false;
      try {
        const answer = await dispatcher.ask(webhook, request, invocation);
        changed = await change(context, request, webhook, invocation, answer);
      } catch (error) {
        settle(error, webhook);
      }
      step.ran(webhook.key, changed, webhook.hook.reinvocationPolicy === "IfNeeded");
    }
    step.end(request);
  };

  return {
    name,
    admit(request) {
      if (configured.list.length === 0 || isExempt(request)) return undefined;
      return admit(request);
    },
  };
}

async function change(
  context: PluginContext,
  request: AdmissionRequest,
  { hook }: ConfiguredWebhook,
  { match, objects }: Invocation,
  { patch }: Answer,
): Promise<boolean> {
  if (patch.length === 0) return false;
  if (!objects.object)
    throw internalError(
      `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, which is not supported for this operation`,
    );
  const patched = apply(context, objects.object, patch);
  if (deepEqual(patched, objects.object)) return false;
  const own = match.kind.version === request.kind.version;
  request.object = own ? patched : await context.convert(patched, request.object?.apiVersion as string);
  return true;
}

function apply(context: PluginContext, object: ApiObject, patch: Answer["patch"]): ApiObject {
  try {
    return context.complete(applyJsonPatch(object, patch));
  } catch (error) {
    if (error instanceof MergeError) throw internalError(error.message, error);
    throw error;
  }
}

export function validatingAdmissionWebhook(context: PluginContext): AdmissionPlugin {
  const configured = new ConfiguredWebhooks(context.store, "validatingwebhookconfigurations");
  const dispatcher = new WebhookDispatcher(context, false);

  /** All at once; the first of them that refuses is the answer. */
  const validate = async (request: AdmissionRequest): Promise<void> => {
    const asked: Promise<unknown>[] = [];
    for (const webhook of configured.list) {
      const invocation = await dispatcher.invocation(webhook, request);
      if (!invocation) continue;
      asked.push(
        dispatcher.ask(webhook, request, invocation).then(
          () => undefined,
          (error) => {
            try {
              settle(error, webhook);
            } catch (refusal) {
              return refusal;
            }
            return undefined;
          },
        ),
      );
    }
    const refusal = (await Promise.all(asked)).find((one) => one !== undefined);
    if (refusal !== undefined) throw refusal;
  };

  return {
    name: "ValidatingAdmissionWebhook",
    validate(request) {
      if (configured.list.length === 0 || isExempt(request)) return undefined;
      return validate(request);
    },
  };
}
