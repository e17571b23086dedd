// The suite as a program: node bench.mjs '{"sizes":[1000],…}' → JSON on the last line.
import { runSuite } from "./suite.ts";

const [name, options] = process.argv.slice(2) as [string, string];
const result = await runSuite(name, JSON.parse(options), (line) => console.error(line));
console.log(JSON.stringify(result));
process.exit(0);
