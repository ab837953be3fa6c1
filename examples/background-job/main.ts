import { createNotificationClient } from '../../src/client/index.ts';

const [type, url] = process.argv.slice(2);
const worker = process.env['WORKER_URL'];
if (type === undefined || url === undefined || worker === undefined) {
  process.stderr.write('Usage: WORKER_URL=http://127.0.0.1:4100 main JOB_TYPE URL\n');
  process.exit(2);
}
// A body that is a JSON document reaches the worker as it is. template_id is the job's type in every list.
const result = await createNotificationClient().send({
  channel: 'webhook',
  recipient: worker,
  body: JSON.stringify({ type, payload: { url } }),
  template_id: type,
  integration_config_id: 'jobs',
});
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exitCode = result.state === 'refused' ? 1 : 0;
