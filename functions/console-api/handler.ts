import { PIPELINE_ROUTES } from '../../src/application/routes/pipeline.ts';
import { bindConsole } from '../shared/console/console-function.ts';

/** The console's routes but those of newsletters. */
export const handler = bindConsole(PIPELINE_ROUTES);
