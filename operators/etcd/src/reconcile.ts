/** An EtcdCluster from beginning to end: gather, decide, act. */
import { type Controller, controller } from "keelson";
import { EtcdCluster } from "./api/cluster.ts";
import { decide } from "./decide/decide.ts";
import type { Decision } from "./decide/decision.ts";
import { conditionsOf, statusOf } from "./decide/report.ts";
import { owns, reads } from "./declaration.ts";
import { EtcdGateway } from "./engine/gateway.ts";
import type { Dial } from "./observe/ask.ts";
import { observe } from "./observe/observe.ts";
import type { Observed } from "./observe/observed.ts";
import { act } from "./steps/act.ts";
import { finalize } from "./steps/deletion.ts";
import { applyBudget, applyServices } from "./steps/services.ts";

export interface EtcdOptions {
  /** How members are spoken to; over their JSON gateway unless told. */
  readonly dial?: Dial;
  /** How it is decided what comes next; the policies of this package unless told. */
  readonly decide?: (observed: Observed) => Decision;
}

export function etcdCluster(options: EtcdOptions = {}): Controller {
  const choose = options.decide ?? decide;
  const dial = options.dial ?? ((address) => new EtcdGateway(address));
  return controller(EtcdCluster, {
    owns,
    reads,

    async reconcile(cluster, ctx) {
      await applyServices(cluster, ctx);

      await using gathered = await observe(cluster, ctx, dial);
      const { observed } = gathered;
      await applyBudget(observed, ctx);

      const decision = choose(observed);
      ctx.setStatus(statusOf(observed, decision));
      for (const condition of conditionsOf(observed, decision)) ctx.setCondition(condition);
      return await act({ cluster, ctx, gathered }, decision);
    },

    finalize,
  });
}
