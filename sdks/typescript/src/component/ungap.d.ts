declare module '@ungap/structured-clone' {
  export default function clone(value: unknown, options?: object): unknown;
}
