/** The tools of a new project, in the versions that this release of Keelson is tested with. */
export const toolVersions: Readonly<Record<string, string>> = {
  "@biomejs/biome": "2.6.6",
  "@types/node": "24.19.2",
  typescript: "7.0.2",
  vitest: "5.1.0",
};
