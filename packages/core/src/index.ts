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
export { goQuote } from "./go-quote.ts";
export {
  canonicalJson,
  compareBytes,
  deepCopy,
  deepEqual,
  deepFreeze,
  isRawNumber,
  numberFromDigits,
  parseJson,
  type RawNumber,
  stringifyJson,
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
  annotationsBytes,
  byteLength,
  generateName,
  maxAnnotationsBytes,
  maxGeneratedBase,
  type NameRule,
  randomSuffix,
  validateAnnotationKey,
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateGenerateName,
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
  everything,
  type FieldRequirement,
  type FieldSelector,
  formatFieldSelector,
  formatLabelSelector,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  type LabelSelectorObject,
  labelRequirement,
  labelSelectorFrom,
  labelSelectorFromLabels,
  matchesFields,
  matchesLabels,
  nothing,
  parseFieldSelector,
  parseLabelSelector,
  requiredFieldValue,
  requiredLabelValue,
} from "./selector.ts";
export { setKey } from "./set-key.ts";
export type { Status, StatusCause, StatusDetails, StatusReason } from "./status.ts";
export { systemClock, systemRandom } from "./system.ts";
export { formatDuration, formatMicroTime, formatTime, parseDuration, parseTime } from "./time.ts";
