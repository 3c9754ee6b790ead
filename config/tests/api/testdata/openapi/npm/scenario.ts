// What a generated client has to manage: to start runs, to wait for them, and to find them in a list of several pages.

export const table = "meter_id,read_at,kwh,quality,tariff\nMTR-1001,2026-03-01T00:00:00Z,34.83,A,night\n";

interface Run {
  id: string;
  state: string;
  result: string;
}

export interface Page {
  next: string | null;
  results: Run[];
}

export interface Client {
  start(key: string): Promise<Run>;
  read(id: string): Promise<Run>;
  list(query: { page_size: number; cursor?: string }): Promise<Page>;
  // refusal returns the code of the problem that answers for a run that is not there.
  refusal(id: string): Promise<string | undefined>;
}

async function completed(client: Client, id: string): Promise<Run> {
  for (;;) {
    const run = await client.read(id);
    if (run.state === "COMPLETED") {
      return run;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function pages(client: Client): Promise<Run[][]> {
  const found: Run[][] = [];
  let page = await client.list({ page_size: 2 });
  found.push(page.results);
  while (page.next) {
    const cursor = new URL(page.next, process.env.ADDRESS).searchParams.get("cursor")!;
    page = await client.list({ page_size: 2, cursor });
    found.push(page.results);
  }
  return found;
}

function demand(holds: boolean, sentence: string): void {
  if (!holds) {
    throw new Error(sentence);
  }
}

// play prints the ids of the runs, one a line.
export async function play(client: Client): Promise<void> {
  const started: Run[] = [];
  for (const n of [1, 2, 3]) {
    started.push(await client.start(`${process.env.KEY}-${n}`));
  }
  for (const { id } of started) {
    const run = await completed(client, id);
    demand(run.result === "PASS", `run ${id} ended with ${run.result}`);
  }
  const list = await pages(client);
  demand(list.length >= 2, `the list has ${list.length} page`);
  const listed = list.flat().map((run) => run.id);
  demand(new Set(listed).size === listed.length, "the list has a run twice");
  for (const { id } of started) {
    demand(listed.includes(id), `the list lacks run ${id}`);
  }
  const code = await client.refusal("00000000-0000-0000-0000-000000000000");
  demand(code === "not_found", `the code of the problem is ${code}`);
  process.stdout.write(started.map((run) => run.id).join("\n"));
}
