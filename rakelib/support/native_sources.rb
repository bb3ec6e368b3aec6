# frozen_string_literal: true

module Godwit
  # Debian's source packages that the platform gem contains. An update changes this file alone: the
  # versions and sums are those of the suite's Sources.
  module NativeSources
    FILE = __FILE__
    SUITE = "bookworm"
    # Source package => its version, and the SHA-256 sums of its files.
    PACKAGES = {
      "libsodium" => ["1.0.18-1+deb12u1", {
        "libsodium_1.0.18-1+deb12u1.dsc" =>
          "2c23c57b5a9385dab5a1916014c9b5f2cdd7dadeb8a35b28c1bfb603ce7095c4",
        "libsodium_1.0.18.orig.tar.gz" =>
          "d59323c6b712a1519a5daf710b68f5e7fde57040845ffec53850911f10a5d4f4",
        "libsodium_1.0.18-1+deb12u1.debian.tar.xz" =>
          "f410474e46346b06b162defa05b1be26906aeed6cf309e3d4ebe30b4d1350733"
      }],
      "zeromq3" => ["4.3.4-6", {
        "zeromq3_4.3.4-6.dsc" =>
          "dfc0e1a03950bff1891b60de3eb41605e9d1d804af063e4b565602165be8c3fe",
        "zeromq3_4.3.4.orig.tar.gz" =>
          "0ff5a531c9ffaf0dfdc7dc78d13d1383088f454896d252934c429b2554d10559",
        "zeromq3_4.3.4-6.debian.tar.xz" =>
          "fbb0dcb4ffbf483d416d9af722db74ad4edd7004625ce10381e8cd3a71b6cd58"
      }]
    }.freeze
  end
end
