import * as v from 'valibot';

/** The URL of a Teams workflow is a credential: it is all that a post needs. */
export const teamsCredential = v.object({ webhook_url: v.string() });
