// swift-tools-version: 6.2

import PackageDescription

// The programs of the guides "Recipes for sequences", "Recipes for servers" and "Moving a pipeline", a
// target each, with the products that each of them imports, and their packages.
let recipes: [String: [(product: String, package: String)]] = [
  "ServerSentEvents": [("Hummingbird", "hummingbird")],
  "Logged": [("Logging", "swift-log")],
  "Measured": [("Metrics", "swift-metrics"), ("MetricsTestKit", "swift-metrics")],
  "Spans": [
    ("Tracing", "swift-distributed-tracing"), ("InMemoryTracing", "swift-distributed-tracing"),
  ],
  "ShuttingDown": [("ServiceLifecycle", "swift-service-lifecycle"), ("Logging", "swift-log")],
  "OnAnEventLoop": [("NIOCore", "swift-nio"), ("NIOPosix", "swift-nio")],
  "Debounced": [("AsyncAlgorithms", "swift-async-algorithms")],
  "Merged": [("AsyncAlgorithms", "swift-async-algorithms")],
  "MovedPipelines": [
    ("AsyncAlgorithms", "swift-async-algorithms"), ("OpenCombine", "OpenCombine"),
    ("OpenCombineDispatch", "OpenCombine"),
  ],
  "Retried": [],
]

let package = Package(
  name: "recipes-with-packages",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "campanile", path: "../.."),
    .package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.1.4"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
    .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
  ],
  targets: recipes.sorted { $0.key < $1.key }.map { name, products in
    .executableTarget(
      name: name,
      dependencies: [.product(name: "Campanile", package: "campanile")]
        + products.map { .product(name: $0.product, package: $0.package) },
      swiftSettings: [.treatAllWarnings(as: .error)]
    )
  },
  swiftLanguageModes: [.v6]
)
