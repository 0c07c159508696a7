/** The base of images by default. */

/** The Node that builds is the Node that runs, and this machine can make an image of it. */
export const ownNode = `node:${process.versions.node.split(".")[0]}`;
