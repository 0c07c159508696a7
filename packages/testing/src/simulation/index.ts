/** Simulated nodes, volumes, network and applications, in virtual time. */

export type { SimulatedKubelet } from "./kubelet.ts";
export {
  type ApplicationCall,
  type CallFate,
  clientName,
  type Impairing,
  type Impairment,
  LineBroken,
  Network,
  operatorName,
} from "./network.ts";
export type { SimulatedNode, SimulatedNodes } from "./nodes.ts";
export type { ContainerRun, PodRun } from "./pod-run.ts";
export type {
  Application,
  ContainerEnd,
  ContainerStart,
  PodObject,
  SimulatedProcess,
  SimulatedVolume,
} from "./process.ts";
export { ReadyProcesses } from "./ready-processes.ts";
export {
  type ApplicationParts,
  type Checkpoint,
  type Simulation,
  type SimulationOptions,
  simulation,
} from "./simulation.ts";
export type { SimulatedVolumes } from "./volumes.ts";
