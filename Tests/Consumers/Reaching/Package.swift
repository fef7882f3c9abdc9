// swift-tools-version: 6.2

import PackageDescription

// A package outside that asks for NATS. scripts/check-consumer fills in where Campanile is.
let package = Package(
  name: "reaching",
  platforms: [.macOS(.v15)],
  dependencies: [.package(url: "CAMPANILE", from: "99.0.0", traits: [.defaults, "NATS"])],
  targets: [
    .target(
      name: "Reaching",
      dependencies: [
        .product(name: "CampanileRelay", package: "campanile"),
        .product(name: "CampanileNATS", package: "campanile"),
      ]),
    .target(
      name: "signing",
      dependencies: [
        .product(name: "CampanileRelay", package: "campanile"),
        .product(name: "CampanileNATS", package: "campanile"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
