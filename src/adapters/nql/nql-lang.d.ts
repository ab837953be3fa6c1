declare module '@tryghost/nql-lang' {
  const nql: { parse(text: string, options?: { readonly preserveRelativeDates?: boolean }): unknown };
  export default nql;
}
