import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { installPackages } from '../../../tools/third-party/install-packages.ts';
import { PROJECT_ROOT } from '../project-root.ts';

/** A page of a framework: as its server renders it, and the script that goes on with it. */
export interface FrameworkPage {
  readonly html: string;
  readonly script: string;
}

const DEFINED = `import { defineNotificationState, TEXTS } from 'client';
  const texts = { 'pt-BR': { ...TEXTS.en, retry: 'Tentar de novo' }, 'zh-Hant': { ...TEXTS.en, retry: '重試' } };
  // As pages do: while the module is loaded, on the server, too.
  defineNotificationState({ url: globalThis.location?.origin ?? 'https://api.example', getToken: async () => 'nrt_x', texts });
  const first = { ids: ['NL1', 'NL2', 'NL3'], canRetry: false };`;

const REACT = `${DEFINED}
  import { createElement as h, useState } from 'react';
  function Page() {
    const [{ ids, canRetry }, show] = useState(first);
    globalThis.show = (shown) => flushSync(() => show(shown));
    const list = ids.map((id) => h('li', { key: id }, h('notification-state', { 'log-id': id })));
    // What it is given it shows at once, in an attribute of its own, before React looks at it.
    const own = { id: 'own', state: 'failed', 'can-retry': canRetry, suppressHydrationWarning: true };
    return h('main', null, h('ul', null, list), h('notification-state', own));
  }`;

const VUE = `${DEFINED}
  import { createSSRApp, h, shallowRef } from 'vue';
  const shown = shallowRef(first);
  globalThis.show = (next) => { shown.value = next; };
  const page = createSSRApp({
    render() {
      const list = shown.value.ids.map((id) => h('li', { key: id }, h('notification-state', { 'log-id': id })));
      const own = h('notification-state', { id: 'own', state: 'failed', 'can-retry': shown.value.canRetry });
      return h('main', null, [h('ul', null, list), own]);
    },
  });`;

const react = (version: string) => ({
  alias: { react: `react-${version}`, 'react-dom': `react-dom-${version}` },
  server: `import { renderToString } from 'react-dom/server'; const flushSync = (act) => act(); ${REACT}
    export const html = renderToString(h(Page));`,
  client: `import { hydrateRoot } from 'react-dom/client'; import { flushSync } from 'react-dom'; ${REACT}
    hydrateRoot(document.getElementById('root'), h(Page));`,
});

const FRAMEWORKS = {
  'React 18': react('18'),
  'React 19': react('19'),
  'Vue 3': {
    alias: {},
    server: `import { renderToString } from '@vue/server-renderer'; ${VUE} export const html = await renderToString(page);`,
    client: `${VUE} page.mount('#root');`,
  },
} as const;

export const FRAMEWORK_NAMES = Object.keys(FRAMEWORKS) as (keyof typeof FRAMEWORKS)[];

/** Builds both sides of a page, and renders it in this Node. */
export async function frameworkPage(name: keyof typeof FRAMEWORKS): Promise<FrameworkPage> {
  const manifest = join(PROJECT_ROOT, 'tools', 'third-party', 'frameworks', 'package.json');
  const tools = join(installPackages('frameworks', manifest), 'node_modules');
  const { alias, server, client } = FRAMEWORKS[name];
  const folder = mkdtempSync(join(tmpdir(), 'framework-'));
  const bundled = async (contents: string, platform: 'node' | 'browser') => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: tools },
      alias: {
        ...Object.fromEntries(Object.entries(alias).map(([from, to]) => [from, join(tools, to)])),
        client: join(PROJECT_ROOT, 'src', 'client', 'browser', 'index.ts'),
      },
      bundle: true,
      format: 'esm',
      platform,
      // Their libraries are CommonJS, and call it on a server.
      ...(platform === 'node' && {
        banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      }),
      // With the warnings that a developer would see.
      define: {
        'process.env.NODE_ENV': '"development"',
        __VUE_OPTIONS_API__: 'true',
        __VUE_PROD_DEVTOOLS__: 'false',
        __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'true',
      },
      outdir: folder,
      write: platform === 'node',
    });
    return outputFiles?.[0]?.text ?? '';
  };
  try {
    await bundled(server, 'node');
    const { html } = await import(pathToFileURL(join(folder, 'stdin.js')).href);
    return { html, script: await bundled(client, 'browser') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
