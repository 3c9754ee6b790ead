/**
 * A service in memory for the tests of programs that use the client.
 *
 * @packageDocumentation
 */
export { type FailedAnswer, FakeServer } from "./server.js";
export { fakeStep } from "./runs.js";
