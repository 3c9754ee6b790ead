import { randomUUID } from "node:crypto";

import type { ErrorCategory, Run, RunResult, RunStatus, Step } from "../types.js";

/** Makes a step, as the outcome of a run, out of what of it matters to a test. */
export function fakeStep(step: Partial<Step> = {}): Step {
  return {
    step_id: "step", name: "Step", status: "PASSED", error: "", counts: { errors: 0, warnings: 0, infos: 0 },
    issues: [], issues_truncated: false, ...step,
  };
}

/** Makes a pending run. */
export function pendingRun(workflow: string, key: string): Run {
  return {
    id: randomUUID(), workflow: randomUUID(), workflow_slug: workflow, workflow_version: 1, submission: randomUUID(),
    org: "acme", source: "API", state: "PENDING", result: "UNKNOWN", status: "PENDING", error: "", error_category: "",
    user_friendly_error: "", idempotency_key: key || null, rerun_of: null, created_at: new Date().toISOString(),
    started_at: null, ended_at: null, duration_ms: 0, attempts: 0, content_purged_at: null, findings_purged_at: null,
    counts: { errors: 0, warnings: 0, infos: 0 }, steps: [],
  };
}

/** Makes the run that a pending one has become. */
export function endedRun(run: Run, result: RunResult, steps: Step[]): Run {
  const now = new Date().toISOString();
  const sum = (kind: "errors" | "warnings" | "infos"): number =>
    steps.reduce((total, step) => total + step.counts[kind], 0);
  return {
    ...run, ...judged(result), state: "COMPLETED", result, steps, started_at: now, ended_at: now, attempts: 1,
    counts: { errors: sum("errors"), warnings: sum("warnings"), infos: sum("infos") },
  };
}

function judged(result: RunResult): { status: RunStatus; error_category: ErrorCategory } {
  switch (result) {
    case "FAIL":
      return { status: "FAILED", error_category: "VALIDATION_FAILED" };
    case "ERROR":
      return { status: "FAILED", error_category: "SYSTEM_ERROR" };
    case "TIMED_OUT":
      return { status: "TIMED_OUT", error_category: "TIMEOUT" };
    case "CANCELED":
      return { status: "CANCELED", error_category: "" };
    default:
      return { status: "SUCCEEDED", error_category: "" };
  }
}

/** Tells what has happened to a run, in the order of time. */
export function storyOf(run: Run): { name: string; data: unknown }[] {
  const bare = { ...run, steps: [] };
  const told: { name: string; data: unknown }[] = [{ name: "run.created", data: bare }];
  if (run.state === "COMPLETED") {
    told.push(...run.steps.map((step) => ({ name: "step.completed", data: { ...step, issues: [] } })));
    told.push({ name: "run.completed", data: bare });
  }
  return told;
}
