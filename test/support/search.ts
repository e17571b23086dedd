import { type Scenario, scenarioOf } from "../../ts/sim/index.ts";
import { type Mistake, simulatorWith } from "./mutant.ts";

/** The first seed, of so many, whose run with these mistakes in the code goes above what is allowed. */
export async function firstCaught(seeds: number, given: Partial<Scenario>, mistakes: Mistake[]): Promise<number> {
  const broken = await simulatorWith(...mistakes);
  for (let seed = 1; seed <= seeds; seed++) {
    const { overshoot, allowed } = await broken.run(scenarioOf(seed, given));
    if (overshoot > allowed) return seed;
  }
  return Number.POSITIVE_INFINITY;
}
