export { type Admission, clairvoyant, overshootOf } from "./checkers.ts";
export { fakeClock } from "./clocks.ts";
export type { Demand, DemandKind } from "./demand.ts";
export { FAULT_KINDS, type FaultKind, type Report, type SimulateOptions } from "./options.ts";
export { commandOf, run, type Scenario, scenarioOf, shrink } from "./scenario.ts";
export { simulate } from "./simulate.ts";
