/**
 * Imports run one way (docs/architecture.md): bin → lib; functions, batch, cli, local → adapters → core. Inside core each
 * room names the rooms below it that it may import.
 */
const onlyTo = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: '^(bin|lib|functions|src|console|tools|examples)/', pathNot: allowed },
});

/** Each room of core, and the rooms it may import beside itself. */
const CORE_ROOMS = {
  model: [],
  indexing: ['model'],
  sweep: ['model'],
  delivery: ['model'],
  breaker: ['delivery', 'model'],
  pacing: ['delivery', 'model'],
  'delivery-events': ['delivery', 'model'],
  operator: ['breaker', 'delivery', 'model'],
  intake: ['indexing', 'delivery', 'model'],
  monitor: ['breaker', 'delivery', 'model'],
  newsletter: ['pacing', 'model'],
  verify: ['model'],
  outcomes: ['model'],
  forget: ['verify', 'operator', 'delivery', 'model'],
  restore: ['forget', 'intake', 'indexing', 'verify', 'operator', 'delivery-events', 'delivery', 'model'],
};

const coreRooms = Object.entries(CORE_ROOMS).map(([room, below]) =>
  onlyTo(`core-${room}`, `^src/core/${room}/`, `^src/core/(${[room, ...below].join('|')})/`),
);

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-folder-cycles', severity: 'error', scope: 'folder', from: {}, to: { circular: true } },
    {
      name: 'core-is-pure',
      comment: 'The domain knows no AWS, no middleware and no Node: clock, ids and random are ports.',
      severity: 'error',
      from: { path: '^src/core/' },
      // A pure function: SHA-256 without Node.
      to: { pathNot: '^src/core/|^node_modules/fast-sha256/' },
    },
    {
      name: 'core-has-rooms',
      comment: 'Every file of core lies in a room of CORE_ROOMS, so that a new room states what it may import.',
      severity: 'error',
      from: {},
      to: { path: '^src/core/', pathNot: `^src/core/(${Object.keys(CORE_ROOMS).join('|')})/` },
    },
    ...coreRooms,
    onlyTo('policy-of-delivery-knows-model', '^src/core/delivery/policy/', '^src/core/(delivery/policy|model)/'),
    onlyTo('http-knows-model', '^src/http/', '^src/(http|processes|core/model)/'),
    onlyTo('adapters-know-core', '^src/adapters/', '^src/(adapters|http|core|processes)/'),
    {
      name: 'processes-stand-alone',
      comment: "The client's package takes them in: nothing but Node's own modules.",
      severity: 'error',
      from: { path: '^src/processes/' },
      to: { pathNot: '^src/processes/', dependencyTypesNot: ['core'] },
    },
    onlyTo('console-knows-its-routes', '^console/', '^(console|src/application|src/core)/|^src/http/paths\\.ts$'),
    {
      name: 'console-takes-types-of-routes',
      comment:
        'The routes come with the server that answers them, and schemas are large: the page takes types and choices.',
      severity: 'error',
      from: { path: '^console/' },
      to: {
        path: '^src/application/',
        pathNot: '^src/application/contract/choices\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'console-types-of-core',
      comment: 'The page takes data of core into the browser: catalogues and types, no use cases.',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^src/core/', pathNot: '^src/core/(model|newsletter/model)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'contract-knows-core',
      comment: 'The gateway and the page take it: no SDK comes with it. One pure file beside core reads addresses.',
      severity: 'error',
      from: { path: '^src/application/contract/' },
      to: {
        pathNot: '^(src/(application/contract|core)/|src/adapters/email/address\\.ts$|node_modules/valibot/)',
        dependencyTypesNot: ['core'],
      },
    },
    onlyTo('application-knows-adapters-and-core', '^src/application/', '^src/(application|adapters|http|core)/'),
    onlyTo(
      'console-server-knows-application',
      '^src/console-server/',
      '^src/(console-server|application|processes|http|core)/',
    ),
    onlyTo('terminal-knows-model', '^src/terminal/', '^src/(terminal|core/model)/'),
    onlyTo('batch-knows-application-and-adapters', '^src/batch/', '^src/(batch|terminal|application|adapters|core)/'),
    onlyTo(
      'cli-knows-client-adapters-and-core',
      '^src/cli/',
      '^(src/(cli|batch|client|console-server|application|terminal|processes|adapters|http|core)/|console/build\\.ts$)',
    ),
    onlyTo('example-knows-client', '^examples/', '^(examples/|src/client/(browser/)?index\\.ts$)'),
    {
      name: 'browser-client-stands-alone',
      comment: 'Web pages load it: no module of Node, and of the client only what is pure.',
      severity: 'error',
      from: { path: '^src/client/browser/' },
      to: {
        pathNot: '^src/client/(browser/|handover/(retry-rules|api-url)\\.ts$)',
        dependencyTypesNot: ['type-only'],
      },
    },
    onlyTo('client-knows-types-of-core', '^src/client/', '^src/(client|terminal|processes|core)/'),
    {
      name: 'client-stands-alone',
      comment:
        'Producers install it: no AWS, no server code; one pure library and src/processes, which its build takes in.',
      severity: 'error',
      from: { path: '^src/client/', pathNot: '^src/client/spool/commands/' },
      to: {
        pathNot: '^(src/(client|processes)/|node_modules/canonicalize/)',
        dependencyTypesNot: ['type-only', 'core'],
      },
    },
    {
      name: 'spool-commands-stand-alone',
      comment: "They come with the client's package: no AWS, no server code.",
      severity: 'error',
      from: { path: '^src/client/spool/commands/main\\.ts$' },
      to: { path: '^(src/adapters|functions)/|node_modules/@aws', reachable: true },
    },
    onlyTo(
      'functions-know-adapters-and-core',
      '^functions/([^/]+)/',
      '^(functions/(shared|$1)|src/adapters|src/http|src/core|src/application)/',
    ),
    onlyTo(
      'local-knows-adapters-and-core',
      '^src/local/',
      '^(src/(local|batch|console-server|application|terminal|processes|adapters|http|core)/|console/build\\.ts$|functions/shared/runtime/((newsletter|console)-)?env\\.ts$)',
    ),
    onlyTo(
      'simulation-knows-functions-adapters-and-core',
      '^tools/simulation/(?!audit/)',
      '^(tools/simulation/|functions/|src/(adapters|application/(emails|scans)|core|terminal)/|lib/(config/(lane-config|setting-types)|constructs/indexing/stream-filters)\\.ts$|src/local/(emulator/events/event-filter|providers/ses/sending-limits|stand-ins/fair-groups|support/json)\\.ts$)',
    ),
    {
      name: 'auditor-stands-alone',
      comment: 'It checks what the pipeline does, so it shares no code with it; its rules are those of `ops verify`.',
      severity: 'error',
      from: { path: '^(tools/simulation/audit|src/core/verify/rules)/' },
      to: { pathNot: '^(tools/simulation/audit|src/core/verify/rules)/' },
    },
    {
      name: 'rules-stand-alone',
      comment: 'The rules of `ops verify` are in the product.',
      severity: 'error',
      from: { path: '^src/core/verify/rules/' },
      to: { pathNot: '^src/core/verify/rules/' },
    },
    onlyTo('bin-knows-lib', '^bin/', '^lib/'),
    {
      name: 'types-of-functions-only',
      comment: 'The construct and the local runtime know functions by entry path and by the type of their environment.',
      severity: 'error',
      from: { path: '^(lib|src/local)/' },
      to: { path: '^functions/', dependencyTypesNot: ['type-only'] },
    },
    onlyTo(
      'lib-knows-data-of-core',
      '^lib/',
      '^(lib|src/core/(model|breaker|newsletter/model|pacing|sweep)/|src/core/delivery/policy/attempt-times\\.ts$|src/console-server/security-headers\\.ts$|src/adapters/dynamodb/schema\\.ts$|src/application/contract/api/|functions/shared/runtime/((newsletter|console)-)?env\\.ts$)',
    ),
    {
      name: 'no-development-dependencies-at-run-time',
      severity: 'error',
      from: { path: '^(functions|src/(core|adapters))/' },
      to: { dependencyTypes: ['npm-dev'], pathNot: '@types/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
