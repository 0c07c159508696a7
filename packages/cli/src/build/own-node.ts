/** The base of images by default. */

/**
 * Node and the libraries that it needs, without a shell. The Node that builds is the Node that runs; this machine makes
 * such an image of it, and one without apt gets the image of that name from its registry.
 */
export const ownNode = `gcr.io/distroless/nodejs${process.versions.node.split(".")[0]}-debian12`;
