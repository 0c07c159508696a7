/** Nouns and pure rules of Kubernetes, without I/O. */

export {
  type ConditionUpdate,
  findCondition,
  isConditionFalse,
  isConditionTrue,
  removeCondition,
  setCondition,
} from "./conditions.ts";
export { CoreError, type CoreErrorCode } from "./errors.ts";
export {
  canonicalJson,
  deepCopy,
  deepEqual,
  deepFreeze,
  isRawNumber,
  parseJson,
  type RawNumber,
} from "./json.ts";
export {
  type AnyKind,
  apiVersionOf,
  dynamicKind,
  type GroupVersionKind,
  groupKind,
  type InputOf,
  type Kind,
  type ObjectOf,
  parseApiVersion,
  resourcePath,
  type Scope,
} from "./kind.ts";
export {
  validateAnnotationKey,
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validateQualifiedName,
} from "./names.ts";
export {
  type Condition,
  type JsonObject,
  type JsonPrimitive,
  type JsonValue,
  type KubeObject,
  keyOf,
  type ManagedFieldsEntry,
  type MicroTime,
  type ObjectMeta,
  type ObjectRef,
  type OwnerReference,
  objectKey,
  parseKey,
  type Stored,
  type StoredMeta,
  type Time,
} from "./object.ts";
export type {
  Cancel,
  Clock,
  HttpHeaders,
  HttpPort,
  HttpRequest,
  HttpResponse,
  HttpUpgrade,
  ProcessPort,
  ProcessResult,
  Random,
  RunOptions,
  World,
} from "./ports.ts";
export { Quantity, type QuantityFormat } from "./quantity.ts";
export {
  escapeFieldValue,
  type FieldRequirement,
  type FieldSelector,
  formatFieldSelector,
  formatLabelSelector,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorFrom,
  labelSelectorFromLabels,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "./selector.ts";
export type { Status, StatusCause, StatusDetails, StatusReason } from "./status.ts";
export { systemClock, systemRandom } from "./system.ts";
export { formatDuration, formatMicroTime, formatTime, parseDuration, parseTime } from "./time.ts";
