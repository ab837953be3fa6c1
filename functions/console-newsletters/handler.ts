import { NEWSLETTER_ROUTES } from '../../src/application/routes/newsletters.ts';
import { bindConsole } from '../shared/console/console-function.ts';

/** The console's routes of newsletters, which may send and read members: only in a stage that has them. */
export const handler = bindConsole(NEWSLETTER_ROUTES);
