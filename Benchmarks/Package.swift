// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that nobody who depends on Campanile resolves the rivals.
let package = Package(
  name: "benchmarks",
  platforms: [.macOS(.v26)],
  dependencies: [
    .package(name: "campanile", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
  ],
  targets: [
    .executableTarget(
      name: "bench",
      dependencies: [
        "CAllocations",
        "CThreads",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Campanile", package: "campanile"),
        .product(name: "CampanileFoundation", package: "campanile"),
        .product(name: "CampanileInspector", package: "campanile"),
        .product(name: "CampanileKVO", package: "campanile"),
        .product(name: "CampanileNotificationCenter", package: "campanile"),
        .product(name: "CampanileRelay", package: "campanile"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
        .strictMemorySafety(),
        .treatAllWarnings(as: .error),
      ]
    ),
    .target(name: "CAllocations", cSettings: [.treatAllWarnings(as: .error)]),
    .target(name: "CThreads", cSettings: [.treatAllWarnings(as: .error)]),
  ],
  swiftLanguageModes: [.v6]
)

// The C client of NATS, Debian's libnats-dev, is needed only by who asks for this comparison.
if Context.environment["CAMPANILE_NATS_SPEED"] != nil {
  package.dependencies[0] = .package(name: "campanile", path: "..", traits: [.defaults, "NATS"])
  package.targets += [
    .target(name: "CLibnats", linkerSettings: [.linkedLibrary("nats")]),
    .executableTarget(
      name: "nats-speed",
      dependencies: [
        "CLibnats",
        .product(name: "CampanileNATS", package: "campanile"),
        .product(name: "CampanileRelay", package: "campanile"),
        .product(name: "Campanile", package: "campanile"),
      ],
      swiftSettings: package.targets[0].swiftSettings),
  ]
}
