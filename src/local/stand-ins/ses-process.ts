import ses from 'aws-ses-v2-local';
import { serveParent } from '../processes/serve-parent.ts';

/** Runs the SES stand-in on a free port. */
await serveParent(async () => {
  const server = await ses.default({ host: '127.0.0.1', port: 0 });
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0 };
});
