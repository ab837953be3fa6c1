import { Duration, Validations } from 'aws-cdk-lib';
import {
  type CfnRoute,
  type CfnStage,
  CorsHttpMethod,
  type CorsPreflightOptions,
  DomainName,
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  HttpRoute,
  HttpRouteKey,
  type HttpStage,
  type ThrottleSettings,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { Construct } from 'constructs';
import { PAGE_CORS } from '../../../src/application/contract/api/page-cors.ts';
import { API_ROUTES } from '../../../src/application/contract/api/routes.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { ServiceFunction } from '../function/service-function.ts';
import type { Stage } from '../stage.ts';
import { presentPart } from '../storage/encryption.ts';
import { accessLog } from './access-log.ts';
import {
  authorizerFunction,
  emailsApiFunction,
  intakeFunction,
  newslettersFunction,
  notificationsFunction,
  tokensFunction,
  unsubscribeFunction,
} from './api-functions.ts';

type ApiDomain = NonNullable<Exclude<StageConfig['api'], false>['domain']>;

/** How long a revoked key may still be accepted. */
const AUTHORIZER_CACHE = Duration.seconds(60);

/** The HTTP API through which producers hand notifications over and ask for their state. */
export class IntakeApi extends Construct {
  readonly api: HttpApi;
  readonly intake: ServiceFunction;
  readonly notifications: ServiceFunction;
  readonly tokens: ServiceFunction;
  readonly authorizer: ServiceFunction;
  /** The base URL, without a slash at the end. */
  readonly url: string;
  /** What the DNS record of the API's own domain names; absent without one. */
  readonly domainTarget: string | undefined;
  private readonly keyless: HttpRoute[] = [];

  constructor(scope: Construct, id: string, props: Stage) {
    super(scope, id);
    const { config } = props;
    const { rateLimit, burstLimit, corsOrigins, domain } = presentPart(config.api || undefined, 'api');
    this.intake = intakeFunction(this, props);
    this.notifications = notificationsFunction(this, props);
    this.tokens = tokensFunction(this, props);
    this.authorizer = authorizerFunction(this, props);
    const apiName = `notification-retry-${config.stage}`;
    this.api = new HttpApi(this, 'Api', {
      apiName,
      description: `notification-retry ${config.stage}: hand notifications over`,
      createDefaultStage: false,
      ...(corsOrigins.length > 0 && { corsPreflight: corsOf(corsOrigins) }),
    });
    const named = domain && this.domainOf(domain);
    const stage = this.api.addStage('Stage', {
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit, burstLimit },
      accessLogSettings: accessLog(this, apiName, config),
      ...(named && { domainMapping: { domainName: named } }),
    });
    this.domainTarget = named?.regionalDomainName;
    this.url = named === undefined ? this.api.apiEndpoint : `https://${named.name}`;
    this.addRoutes(props);
    limitKeyless(stage, this.keyless, { rateLimit, burstLimit });
  }

  /** The API by a name that outlives it: links in mails lead there for two years. */
  private domainOf({ name, certificateArn }: ApiDomain): DomainName {
    const certificate = Certificate.fromCertificateArn(this, 'Certificate', certificateArn);
    return new DomainName(this, 'Domain', { domainName: name, certificate });
  }

  /** The contract's routes, each to the function that serves it, and what is no route of it. */
  private addRoutes(props: Stage): void {
    const { newsletters } = props;
    const authorizer = new HttpLambdaAuthorizer('Authorizer', this.authorizer, {
      responseTypes: [HttpLambdaResponseType.SIMPLE],
      identitySource: ['$request.header.Authorization'],
      resultsCacheTtl: AUTHORIZER_CACHE,
    });
    const notifications = new HttpLambdaIntegration('Notifications', this.notifications);
    const stage = newsletters && { ...props, ...newsletters };
    const integrations = {
      intake: new HttpLambdaIntegration('Intake', this.intake),
      notifications,
      tokens: new HttpLambdaIntegration('Tokens', this.tokens),
      newsletters: stage && new HttpLambdaIntegration('Newsletters', newslettersFunction(this, stage)),
      emails: stage && new HttpLambdaIntegration('Emails', emailsApiFunction(this, stage)),
    };
    for (const { key, scope, served_by } of API_ROUTES) {
      const integration = integrations[served_by];
      if (integration === undefined) continue;
      const [method = '', path = ''] = key.split(' ');
      const isOpen = scope === 'none';
      const routes = this.api.addRoutes({
        path,
        methods: [HttpMethod[method as keyof typeof HttpMethod]],
        integration,
        authorizer: isOpen ? new HttpNoneAuthorizer() : authorizer,
      });
      if (isOpen)
        this.withoutKeys(
          routes,
          'The OpenAPI document tells nothing that needs a key, and tools fetch it without one.',
        );
    }
    const unknownPath = new HttpRoute(this, 'Rest', {
      httpApi: this.api,
      routeKey: HttpRouteKey.DEFAULT,
      integration: notifications,
      authorizer: new HttpNoneAuthorizer(),
    });
    this.withoutKeys(
      [unknownPath],
      'It only says that there is no such path, as a problem document: API Gateway has words of its own.',
    );
    // Greedy, because some mail programs take a slash along. Programs that look at links ask for their head.
    const links = this.api.addRoutes({
      path: '/u/{token+}',
      methods: [HttpMethod.GET, HttpMethod.HEAD, HttpMethod.POST],
      integration: stage ? new HttpLambdaIntegration('Unsubscribe', unsubscribeFunction(this, stage)) : notifications,
      authorizer: new HttpNoneAuthorizer(),
    });
    this.withoutKeys(links, 'Whoever has the mail may unsubscribe: the token in the link is signed (RFC 8058).');
  }

  private withoutKeys(routes: readonly HttpRoute[], reason: string): void {
    this.keyless.push(...routes);
    for (const route of routes) Validations.of(route).acknowledge({ id: 'AwsSolutions-APIG4', reason });
  }
}

/** API Gateway answers preflights itself, and adds the headers to every answer for a page of these origins. */
function corsOf(origins: readonly string[]): CorsPreflightOptions {
  return {
    allowOrigins: [...origins],
    allowMethods: PAGE_CORS.methods.map((method) => CorsHttpMethod[method]),
    allowHeaders: [...PAGE_CORS.headers],
    exposeHeaders: [...PAGE_CORS.exposed],
    maxAge: Duration.seconds(PAGE_CORS.max_age_seconds),
  };
}

/** Requests a second to routes that need no key: whoever floods them takes nothing from those that need one. */
const KEYLESS: Readonly<Record<string, number>> = {
  'GET /u/{token+}': 50,
  'HEAD /u/{token+}': 50,
  'POST /u/{token+}': 100,
};
const OTHER_KEYLESS = 10;

function limitKeyless(stage: HttpStage, routes: readonly HttpRoute[], most: ThrottleSettings): void {
  const { rateLimit = 0, burstLimit = 0 } = most;
  const settings = routes.map((route) => {
    const { routeKey } = route.node.defaultChild as CfnRoute;
    const rate = KEYLESS[routeKey] ?? OTHER_KEYLESS;
    const limits = {
      ThrottlingRateLimit: Math.min(rate, rateLimit),
      ThrottlingBurstLimit: Math.min(2 * rate, burstLimit),
    };
    return [routeKey, limits] as const;
  });
  (stage.node.defaultChild as CfnStage).routeSettings = Object.fromEntries(settings);
  // API Gateway refuses settings of a route that is not there. CloudFormation removes none that the template has no more,
  // and each later update of the stage fails by them: so every stage has these routes, whichever parts it takes.
  stage.node.addDependency(...routes);
}
