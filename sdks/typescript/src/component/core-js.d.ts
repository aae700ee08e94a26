declare module 'core-js-pure/stable/structured-clone' {
  const structuredClone: (value: unknown) => unknown;
  export default structuredClone;
}
declare module 'core-js-pure/web/url' {
  const constructor: new (url: string, base?: string) => object;
  export default constructor;
}
declare module 'core-js-pure/web/url-search-params' {
  const constructor: new (init?: unknown) => object;
  export default constructor;
}
