import type * as v from 'valibot';
import type { Out } from './contract/fields.ts';
import { NEWSLETTER_ROUTES } from './routes/newsletters.ts';
import { PIPELINE_ROUTES } from './routes/pipeline.ts';

/** Every route of the console, in the order of its document. */
export const CONSOLE_ROUTES = [...PIPELINE_ROUTES, ...NEWSLETTER_ROUTES];

/** What routes take and answer, for the page: by key. */
export type TypesOf<
  R extends { readonly key: string; readonly takes: v.GenericSchema; readonly answer: v.GenericSchema },
> = {
  readonly [One in R as One['key']]: {
    readonly takes: v.InferInput<One['takes']>;
    readonly answer: Out<One['answer']>;
  };
};

export type ConsoleRoutes = TypesOf<(typeof CONSOLE_ROUTES)[number]>;
export type RouteKey = keyof ConsoleRoutes;
export type AnswerOf<K extends RouteKey> = ConsoleRoutes[K]['answer'];
