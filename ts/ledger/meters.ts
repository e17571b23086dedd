import type { CoreExports } from "../core/exports.ts";
import { Meter } from "../core/meter.ts";
import type { Meters } from "./run.ts";

/** As many meters as are asked for, over one instance of the core that is made for the first. */
export function metersOf(instantiate: () => CoreExports): Meters {
  let core: CoreExports | undefined;
  const meters: Meter[] = [];
  return (index) => {
    core ??= instantiate();
    meters[index] ??= new Meter(core);
    return meters[index];
  };
}
