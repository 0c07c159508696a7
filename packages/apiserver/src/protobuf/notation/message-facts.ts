/** The shape of the generated table of messages; ../messages.ts reads its notation. */

export interface MessagePackageFacts {
  /** `k8s.io.api.apps.v1`. */
  readonly name: string;
  /** Group-version of its kinds, empty when it has none. */
  readonly groupVersion: string;
  readonly text: string;
}
