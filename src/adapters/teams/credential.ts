import * as v from 'valibot';
import { targetPorts } from '../secrets/target-ports.ts';

/** The URL of a Teams workflow is a credential: it is all that a post needs. `ports` are allowed beside 443. */
export const teamsCredential = v.object({ webhook_url: v.string(), ports: targetPorts });
