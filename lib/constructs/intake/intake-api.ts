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
  type IHttpRouteAuthorizer,
  type ThrottleSettings,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { Construct } from 'constructs';
import { PAGE_CORS } from '../../../src/adapters/api/page-cors.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { ServiceFunction } from '../function/service-function.ts';
import type { NewsletterStage, Stage } from '../stage.ts';
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
    const authorizer = this.addRoutes(props);
    if (props.newsletters) this.addNewsletterRoutes({ ...props, ...props.newsletters }, authorizer);
    limitKeyless(stage, this.keyless, { rateLimit, burstLimit });
  }

  /** The API by a name that outlives it: links in mails lead there for two years. */
  private domainOf({ name, certificateArn }: ApiDomain): DomainName {
    const certificate = Certificate.fromCertificateArn(this, 'Certificate', certificateArn);
    return new DomainName(this, 'Domain', { domainName: name, certificate });
  }

  private route(
    method: HttpMethod,
    path: string,
    integration: HttpLambdaIntegration,
    authorizer: IHttpRouteAuthorizer,
  ) {
    return this.api.addRoutes({ path, methods: [method], integration, authorizer });
  }

  private addRoutes(props: Stage): HttpLambdaAuthorizer {
    const authorizer = new HttpLambdaAuthorizer('Authorizer', this.authorizer, {
      responseTypes: [HttpLambdaResponseType.SIMPLE],
      identitySource: ['$request.header.Authorization'],
      resultsCacheTtl: AUTHORIZER_CACHE,
    });
    const intake = new HttpLambdaIntegration('Intake', this.intake);
    const notifications = new HttpLambdaIntegration('Notifications', this.notifications);
    const route = (
      method: HttpMethod,
      path: string,
      integration: HttpLambdaIntegration,
      by: IHttpRouteAuthorizer = authorizer,
    ) => this.route(method, path, integration, by);
    const { GET, POST } = HttpMethod;
    route(POST, '/v1/notifications', intake);
    route(POST, '/v1/notifications/batch', intake);
    route(POST, '/v1/notifications/{log_id}/failures', intake);
    route(GET, '/v1/notifications', notifications);
    route(GET, '/v1/notifications/{log_id}', notifications);
    route(POST, '/v1/notifications/{log_id}/retry', notifications);
    route(POST, '/v1/tokens', new HttpLambdaIntegration('Tokens', this.tokens));
    const [document] = route(GET, '/v1/openapi.json', notifications, new HttpNoneAuthorizer());
    if (document === undefined) throw new Error('API Gateway made no route for GET /v1/openapi.json');
    this.withoutKey(document, 'The OpenAPI document tells nothing that needs a key, and tools fetch it without one.');
    const unknownPath = new HttpRoute(this, 'Rest', {
      httpApi: this.api,
      routeKey: HttpRouteKey.DEFAULT,
      integration: notifications,
      authorizer: new HttpNoneAuthorizer(),
    });
    this.withoutKey(
      unknownPath,
      'It only says that there is no such path, as a problem document: API Gateway has words of its own.',
    );
    const { newsletters } = props;
    const links = newsletters
      ? new HttpLambdaIntegration('Unsubscribe', unsubscribeFunction(this, { ...props, ...newsletters }))
      : notifications;
    // Greedy, because some mail programs take a slash along. Programs that look at links ask for their head.
    for (const method of [GET, HttpMethod.HEAD, POST]) {
      for (const link of this.route(method, '/u/{token+}', links, new HttpNoneAuthorizer())) {
        this.withoutKey(link, 'Whoever has the mail may unsubscribe: the token in the link is signed (RFC 8058).');
      }
    }
    return authorizer;
  }

  private withoutKey(route: HttpRoute, reason: string): void {
    this.keyless.push(route);
    Validations.of(route).acknowledge({ id: 'AwsSolutions-APIG4', reason });
  }

  private addNewsletterRoutes(props: NewsletterStage, authorizer: IHttpRouteAuthorizer): void {
    const newsletters = new HttpLambdaIntegration('Newsletters', newslettersFunction(this, props));
    const emails = new HttpLambdaIntegration('Emails', emailsApiFunction(this, props));
    const { GET, POST, PUT, DELETE } = HttpMethod;
    const route = (method: HttpMethod, path: string, integration: HttpLambdaIntegration) =>
      this.route(method, path, integration, authorizer);
    route(GET, '/v1/newsletters', newsletters);
    route(PUT, '/v1/newsletters/{newsletter_id}', newsletters);
    route(GET, '/v1/newsletters/{newsletter_id}', newsletters);
    route(POST, '/v1/members', newsletters);
    route(GET, '/v1/members', newsletters);
    route(GET, '/v1/members/{member_id}', newsletters);
    route(DELETE, '/v1/members/{member_id}', newsletters);
    route(POST, '/v1/members/{member_id}/resubscribe', newsletters);
    route(GET, '/v1/emails', emails);
    route(POST, '/v1/emails', emails);
    route(GET, '/v1/emails/{email_id}', emails);
    route(PUT, '/v1/emails/{email_id}', emails);
    route(POST, '/v1/emails/test', emails);
    for (const list of ['batches', 'recipients', 'dry-run']) route(GET, `/v1/emails/{email_id}/${list}`, emails);
    for (const verb of ['retry', 'pause', 'resume', 'cancel', 'test', 'resolve']) {
      route(POST, `/v1/emails/{email_id}/${verb}`, emails);
    }
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
