/**
 * Takes the place of vitest in the test files of a target: it collects their tests, so that all of them stay loaded in
 * one process and each mutant runs only those that reach it.
 */
type Body = () => unknown;
type RowBody = (...row: never[]) => unknown;

interface Suite {
  readonly beforeAll: Body[];
  readonly beforeEach: Body[];
  readonly afterEach: Body[];
  readonly afterAll: Body[];
  readonly parent?: Suite;
}

export interface CollectedTest {
  readonly id: string;
  readonly body: Body;
  readonly suite: Suite;
}

export const collected: CollectedTest[] = [];

let suite = newSuite();

function newSuite(parent?: Suite): Suite {
  return { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [], ...(parent && { parent }) };
}

/** Begins a test file. */
export function beginFile(): void {
  suite = newSuite();
}

export function describe(_: string, body: Body): void {
  const outer = suite;
  suite = newSuite(outer);
  body();
  suite = outer;
}

function one(name: string, body: Body): void {
  collected.push({ id: `${collected.length} ${name}`, body, suite });
}

function each(rows: readonly unknown[]) {
  return (name: string, body: RowBody): void => {
    for (const row of rows) one(name, () => body(...((Array.isArray(row) ? row : [row]) as never[])));
  };
}

export const it = Object.assign(one, { each });
export const beforeAll = (body: Body) => void suite.beforeAll.push(body);
export const beforeEach = (body: Body) => void suite.beforeEach.push(body);
export const afterEach = (body: Body) => void suite.afterEach.push(body);
export const afterAll = (body: Body) => void suite.afterAll.push(body);

/** From the outermost to the one that holds the test. */
function suitesOf(test: CollectedTest): Suite[] {
  const suites: Suite[] = [];
  for (let at: Suite | undefined = test.suite; at !== undefined; at = at.parent) suites.unshift(at);
  return suites;
}

/** Runs one test with all of its hooks, those of whole suites too: it may be the only one of its suite. */
export async function runTest(test: CollectedTest): Promise<void> {
  const outwards = suitesOf(test).reverse();
  const inwards = suitesOf(test);
  try {
    for (const { beforeAll } of inwards) await inOrder(beforeAll);
    for (const { beforeEach } of inwards) await inOrder(beforeEach);
    await test.body();
  } finally {
    for (const { afterEach } of outwards) await inOrder(afterEach);
    for (const { afterAll } of outwards) await inOrder(afterAll);
  }
}

async function inOrder(hooks: readonly Body[]): Promise<void> {
  for (const hook of hooks) await hook();
}
