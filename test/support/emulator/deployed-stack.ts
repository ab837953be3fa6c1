import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { toForeignRow } from '../../../src/adapters/dynamodb/table/item.ts';
import { ACCOUNT, type Credentials, type Ministack, ROOT } from './ministack.ts';
import { outputOf } from './run-command.ts';

export const STACK = 'notification-retry-dev';

interface ApiAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: object | string;
}

/** An e-mail as the emulator's SES keeps it. */
export interface SentMail {
  readonly To: readonly string[];
  readonly Source: string;
  readonly Subject: string;
  readonly BodyText: string;
  readonly MessageId: string;
}

/** The stack on an emulator, as its operators and producers reach it: by the AWS CLI, the npm scripts and the API. */
export interface DeployedStack {
  outputs(): Promise<Readonly<Record<string, string>>>;
  /** Prepares the account: CDK's bootstrap stack, and the sender of e-mails that SES has to know (README, "Deploy"). */
  prepare(assembly: string): Promise<void>;
  /** Deploys the assembly, over the stack that may be there. */
  deploy(assembly: string): Promise<string>;
  destroy(assembly: string): Promise<string>;
  /** The standard output of an AWS CLI command. */
  aws(args: readonly string[], as?: Credentials): Promise<string>;
  /** The standard output of an npm script. */
  npm(script: string, args: readonly string[], as?: Credentials, input?: string): Promise<string>;
  row(log_id: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  api(request: ApiRequest): Promise<ApiAnswer>;
  /** The routes of the console, as its page calls them. */
  consoleApi(request: ApiRequest): Promise<ApiAnswer>;
  /** Invokes a function as a schedule does. @param service the folder under functions/ */
  invoke(service: string, event: object): Promise<Readonly<Record<string, unknown>>>;
  /** The e-mails that SES took. */
  mails(): Promise<readonly SentMail[]>;
}

export function stackOn(emulator: Ministack): DeployedStack {
  const ca = emulator.certificate && readFileSync(emulator.certificate, 'utf8');
  const agents = ca ? { httpsAgent: new HttpsAgent({ ca }) } : { httpAgent: new HttpAgent() };
  const dynamodb = new DynamoDBClient({
    endpoint: emulator.endpoint,
    region: 'us-east-1',
    credentials: ROOT,
    requestHandler: agents,
  });
  const root = emulator.environment();
  const cdk = (...args: string[]) => outputOf('cdk', ['--ci', '--no-color', ...args], root);

  const send = ({ method, path, headers, body }: ApiRequest, host?: string): Promise<ApiAnswer> =>
    new Promise((resolve, reject) => {
      const request = (ca ? httpsRequest : httpRequest)(
        `${emulator.endpoint}${path}`,
        {
          method,
          agent: agents.httpsAgent ?? agents.httpAgent,
          headers: { ...headers, ...(host && { host }) },
          servername: 'localhost',
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.once('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
        },
      );
      request.once('error', reject);
      request.end(typeof body === 'object' ? JSON.stringify(body) : body);
    });

  let outputs: Readonly<Record<string, string>> | undefined;
  let consoleHost: string | undefined;
  /** The host of the API whose name ends so. */
  const hostOf = async (end: string): Promise<string> => {
    const { Items } = JSON.parse(await stack.aws(['apigatewayv2', 'get-apis']));
    const { ApiEndpoint } = Items.find(({ Name }: { Name: string }) => Name.endsWith(end));
    return ApiEndpoint.split('/')[2];
  };
  const stack: DeployedStack = {
    async outputs() {
      if (outputs) return outputs;
      const described = await stack.aws(['cloudformation', 'describe-stacks', '--stack-name', STACK]);
      const [{ Outputs }] = JSON.parse(described).Stacks;
      outputs = Object.fromEntries<string>(
        Outputs.map((one: { OutputKey: string; OutputValue: string }) => [one.OutputKey, one.OutputValue]),
      );
      return outputs;
    },
    async prepare(assembly) {
      await cdk('bootstrap', `aws://${ACCOUNT}/us-east-1`, '--app', assembly);
      await stack.aws(['ses', 'verify-email-identity', '--email-address', 'noreply@example.com']);
    },
    async deploy(assembly) {
      outputs = undefined;
      return cdk('deploy', '--app', assembly, '--require-approval', 'never');
    },
    destroy(assembly) {
      outputs = undefined;
      return cdk('destroy', '--app', assembly, '--force');
    },
    // Without the option, a few of SQS's commands go to AWS, whatever endpoint the environment names.
    aws: (args, as) =>
      outputOf('aws', ['--output', 'json', '--endpoint-url', emulator.endpoint, ...args], emulator.environment(as)),
    npm: (script, args, as, input) =>
      outputOf('npm', ['run', '--silent', script, '--', ...args], emulator.environment(as), input),
    async row(log_id) {
      const { NotificationLogTable } = await stack.outputs();
      const { Item } = await dynamodb.send(
        new GetItemCommand({ TableName: NotificationLogTable, Key: { log_id: { S: log_id } }, ConsistentRead: true }),
      );
      return Item && toForeignRow(Item);
    },
    async api(request) {
      const { ApiUrl = '' } = await stack.outputs();
      // The API's own host name resolves to nothing. The emulator goes by the header.
      return send(request, ApiUrl.split('/')[2]);
    },
    async consoleApi(request) {
      consoleHost ??= await hostOf('-console');
      return send(request, consoleHost);
    },
    async invoke(service, event) {
      const { Functions } = JSON.parse(await stack.aws(['lambda', 'list-functions']));
      const { FunctionName } = Functions.find(
        ({ Environment }: { Environment?: { Variables: Record<string, string> } }) =>
          Environment?.Variables['POWERTOOLS_SERVICE_NAME'] === service,
      );
      const payload = Buffer.from(JSON.stringify(event)).toString();
      const args = ['lambda', 'invoke', '--function-name', FunctionName, '--payload', payload, '/dev/null'];
      return JSON.parse(await stack.aws(args));
    },
    async mails() {
      const { body } = await send({ method: 'GET', path: '/_ministack/ses/messages', headers: {} });
      return JSON.parse(body).messages[ACCOUNT] ?? [];
    },
  };
  return stack;
}
