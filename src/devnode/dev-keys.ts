/**
 * The mnemonic of the local node's keys. It is a phrase that everybody knows: never send anything of worth to its keys.
 */
export const DEV_MNEMONIC = "test test test test test test test test test test test junk";

/** The public keys of that mnemonic's wallet, those of the indexes 1 to 10. */
export const devKeys: readonly string[] = [
  "39d23ba59062d18b9f2766d748b3ca948e6344b40fd0155d6d932d759250a715",
  "1475246bf71ac28c9b580dac46f525caf69090ace59dfdb744c810d1218fc288",
  "0e88c8a48bbd93a3d2c3720fe3b0261d2cd77ce70670f698225ca81dd827ca0d",
  "0368ed75074bfb883cc7b97ba323c1b37522aaa8f8404600b69060debe5e0ad3",
  "81925caf934fcaff113a21ee63f14c83062304cca6773f04acb27d7e0487bb72",
  "3329a1de3edb2adef218a964d85bf526c049ac891cc30612feb4d33e86949ae7",
  "f0f773ab6145ead7015d5cb17932157ba11bcb9c1359be8507e5ee35415c0af1",
  "6b25177b81080424b242ecf6dcc18f290bf32ae00455f865936a354143e5d1f1",
  "984964898643828cb2e1874e1219b54d83eb0689bbad95036428aa4cbd332971",
  "6cfa1dfcc3e6ba4ed2e27b16b084c8001baa9fef2325923c7d33da9712b64a8a",
];
