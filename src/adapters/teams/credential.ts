import * as v from 'valibot';

/** The URL of a Teams workflow is its credential: whoever has it can post. */
export const teamsCredential = v.object({ webhook_url: v.string() });
