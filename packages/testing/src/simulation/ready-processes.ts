/** An application whose processes do nothing but be ready: for operators whose own work is what is tested. */
import type { Application, ContainerEnd, ContainerStart, SimulatedProcess } from "./process.ts";

/** Every container is ready as soon as it runs, and ends when it is told to. */
export class ReadyProcesses implements Application {
  start(start: ContainerStart): SimulatedProcess {
    return this.resume("", start);
  }

  resume(_uid: string, start: ContainerStart): SimulatedProcess {
    const process = {
      ready: true,
      ended: undefined as ContainerEnd | undefined,
      stop: () => process.kill(),
      kill: () => {
        process.ended ??= { exitCode: 0, message: "" };
        start.changed();
      },
    };
    return process;
  }

  save(): object {
    return {};
  }

  restore(): void {}
}
