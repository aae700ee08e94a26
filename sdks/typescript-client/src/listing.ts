// Lists that come in pages.

/** Items of a list, fetched page by page: `for await (const item of listing)`. */
export class Listing<Item, Page> implements AsyncIterable<Item> {
  readonly #fetch: (after: string | undefined) => Promise<Page>;
  readonly #items: (page: Page) => Item[];
  readonly #next: (page: Page) => string | undefined;

  /** @internal */
  constructor(
    fetch: (after: string | undefined) => Promise<Page>,
    items: (page: Page) => Item[],
    next: (page: Page) => string | undefined,
  ) {
    this.#fetch = fetch;
    this.#items = items;
    this.#next = next;
  }

  /**
   * The pages, with what they have beside the items: `counts`, and rows that cannot be read. A page may be empty and
   * still not be the last.
   */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let after: string | undefined;
    do {
      const page = await this.#fetch(after);
      yield page;
      after = this.#next(page);
    } while (after !== undefined);
  }

  /** The items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* this.#items(page);
  }

  /** The first `max` items. */
  async take(max: number): Promise<Item[]> {
    const items: Item[] = [];
    if (max <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= max) break;
    }
    return items;
  }
}
