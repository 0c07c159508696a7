/** A cluster for a test, virtual time, crashes at every write, convergence assertions. */
export { type Cluster, type ClusterOptions, cluster } from "./cluster.ts";
export type { ConvergeOptions } from "./converge.ts";
export { type EveryCrashReport, everyCrash } from "./every-crash.ts";
export {
  type AnywhereDisturbance,
  anywhere,
  atFraction,
  type Beginning,
  Beginnings,
  type Choice,
  type Clients,
  type Disturbance,
  disturbancesOf,
  type End,
  type ExploreOptions,
  type ExploreReport,
  explore,
  type Failure,
  formatReport,
  type Identity,
  type KeptData,
  type Oracle,
  type Plan,
  type Played,
  type PlayOptions,
  type Primary,
  pick,
  planOf,
  randomFraction,
  replay,
  Scene,
  type Step,
  type Subject,
  type TraceLine,
  type Violation,
  World,
} from "./explore/index.ts";
export { conflict, type Fault, type FaultRule, Faults, serverError, tooManyRequests } from "./faults.ts";
export { Manager } from "./manager.ts";
export type { ObservedRequest } from "./observed-request.ts";
export { ProcessLife } from "./process-life.ts";
export { checkRoundTrip, type RoundTripOptions, type RoundTripReport } from "./round-trip.ts";
export { SeededRandom } from "./seeded-random.ts";
export {
  type SimulatedNodeOptions,
  type SimulatedNodeServices,
  simulatedKubelet,
  startSimulatedNode,
} from "./simulated-node.ts";
export {
  type Application,
  type ApplicationCall,
  type ApplicationParts,
  type CallFate,
  type Checkpoint,
  type ContainerEnd,
  type ContainerRun,
  type ContainerStart,
  clientName,
  type Impairing,
  type Impairment,
  LineBroken,
  Network,
  operatorName,
  type PodObject,
  type PodRun,
  ReadyProcesses,
  type SimulatedKubelet,
  type SimulatedNode,
  type SimulatedNodes,
  type SimulatedProcess,
  type SimulatedVolume,
  type SimulatedVolumes,
  type Simulation,
  type SimulationOptions,
  simulation,
} from "./simulation/index.ts";
export { type UntilOptions, until } from "./until.ts";
export { VirtualClock, type VirtualClockOptions } from "./virtual-clock.ts";
