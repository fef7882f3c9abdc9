// swift-tools-version: 6.2

import PackageDescription

// A package of its own, built for libFuzzer by scripts/fuzz. Each fuzzer is a library, since
// libFuzzer brings the function `main`.
let fuzzers = ["FuzzObserverList", "FuzzMailbox", "FuzzKeyValue", "FuzzWave", "FuzzRelay"]

let package = Package(
  name: "fuzz",
  platforms: [.macOS(.v15)],
  products: fuzzers.map { .library(name: $0, type: .static, targets: [$0]) },
  dependencies: [.package(name: "campanile", path: "..")],
  targets: [.target(name: "FuzzSupport")]
    + fuzzers.map { name in
      .target(
        name: name,
        dependencies: [
          "FuzzSupport", .product(name: "Campanile", package: "campanile"),
          .product(name: "CampanileKVO", package: "campanile"),
        ])
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
  ]
}
