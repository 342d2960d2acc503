/** Where an operation sends a browser: a path of ours, or the address of an identity provider. */
export class Redirect {
  readonly location: string;

  constructor(location: string) {
    this.location = location;
  }
}
