/** The release whose behaviour the server has. */
export const kubernetesVersion = "v1.36.4";
