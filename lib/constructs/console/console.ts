import { Fn } from 'aws-cdk-lib';
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { Construct } from 'constructs';
import type { ServiceFunction } from '../function/service-function.ts';
import { accessLog } from '../intake/access-log.ts';
import { consoleApiFunction } from './api-function.ts';
import type { ConsoleProps } from './console-props.ts';
import { ConsoleOperations } from './operations.ts';
import { ConsolePage } from './page.ts';
import { createSignIn } from './sign-in.ts';

/**
 * The console on the web: the page in a private bucket behind CloudFront, its routes as a function behind an HTTP API
 * that checks each token, and a function for bulk operations. A stage without it has nothing of it.
 */
export class Console extends Construct {
  readonly url: string;
  readonly api: ServiceFunction;

  constructor(scope: Construct, id: string, props: ConsoleProps) {
    super(scope, id);
    const { config, settings } = props;
    const httpApi = new HttpApi(this, 'Api', {
      apiName: `notification-retry-${config.stage}-console`,
      description: `notification-retry ${config.stage}: the routes of the console`,
      createDefaultStage: false,
    });
    httpApi.addStage('Stage', {
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: config.api.rateLimit, burstLimit: config.api.burstLimit },
      accessLogSettings: accessLog(this, config),
    });
    const apiDomain = Fn.select(2, Fn.split('/', httpApi.apiEndpoint));
    const page = new ConsolePage(this, 'Page', { config, api: new HttpOrigin(apiDomain) });
    this.url = page.url;
    const signIn = createSignIn(this, config, settings, `${page.url}/`);
    page.deploy(signIn);
    const operations = new ConsoleOperations(this, 'Operations', props);
    this.api = consoleApiFunction(this, props, operations.queue, signIn.roleClaim);
    httpApi.addRoutes({
      path: '/api/{proxy+}',
      methods: [HttpMethod.GET, HttpMethod.POST],
      integration: new HttpLambdaIntegration('Routes', this.api),
      authorizer: new HttpJwtAuthorizer('Token', signIn.issuer, { jwtAudience: [signIn.clientId] }),
    });
  }
}
