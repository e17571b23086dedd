// What needs nothing of a platform, and must be so on all of them.
import { readFileSync } from "node:fs";
import * as sluice from "../../../ts/index.ts";
import { limiterSuite } from "../../package/limiter-suite.ts";
import "../../designs/lease.test.ts";
import "../../hold.test.ts";
import "../../wait.test.ts";

const vectors = JSON.parse(readFileSync(new URL("../vectors/policies.json", import.meta.url), "utf8"));
limiterSuite("a limiter", sluice, vectors);
