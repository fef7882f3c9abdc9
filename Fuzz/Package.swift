// swift-tools-version: 6.2

import PackageDescription

// A package of its own, built for libFuzzer by scripts/fuzz. Each fuzzer is a library, since
// libFuzzer brings the function `main`.
let fuzzers = [
  "FuzzObserverList", "FuzzMailbox", "FuzzKeyValue", "FuzzWave", "FuzzRelay", "FuzzNATS",
]

let package = Package(
  name: "fuzz",
  platforms: [.macOS(.v15)],
  products: fuzzers.map { .library(name: $0, type: .static, targets: [$0]) },
  dependencies: [
    .package(name: "campanile", path: ".."),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
  ],
  targets: [.target(name: "FuzzSupport")]
    + fuzzers.map { name in
      .target(
        name: name,
        dependencies: [
          "FuzzSupport", .product(name: "Campanile", package: "campanile"),
          .product(name: "CampanileKVO", package: "campanile"),
        ] + (name == "FuzzNATS" ? [.product(name: "NIOCore", package: "swift-nio")] : []))
    },
  swiftLanguageModes: [.v6]
)

for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    // Sources of CampanileNATS are for this trait.
    .define("NATS"),
  ]
}
