/** Pods as their template describes them. */
import { deepCopy, type InputOf, validateDns1123Subdomain } from "@keelson/core";
import { validateGenerateName } from "@keelson/core/internal";
import type { Pod, PodTemplateSpec } from "@keelson/core/kinds";

export type NewPod = InputOf<typeof Pod> & {
  metadata: NonNullable<InputOf<typeof Pod>["metadata"]>;
  spec: NonNullable<InputOf<typeof Pod>["spec"]>;
};

/** A pod of the template, named after its controller with a random end. */
export function podFromTemplate(
  template: PodTemplateSpec,
  controller: { readonly name: string; readonly namespace?: string },
): NewPod {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  return {
    metadata: {
      generateName: podNamePrefix(controller.name),
      ...(controller.namespace === undefined ? {} : { namespace: controller.namespace }),
      labels: { ...labels },
      ...(annotations ? { annotations: { ...annotations } } : {}),
      ...(finalizers ? { finalizers: [...finalizers] } : {}),
    },
    spec: deepCopy(template.spec ?? { containers: [] }) as NewPod["spec"],
  };
}

/** With a dash where the name bears one more character. */
export function podNamePrefix(name: string): string {
  const dashed = `${name}-`;
  return validateGenerateName(dashed, validateDns1123Subdomain).length === 0 ? dashed : name;
}
