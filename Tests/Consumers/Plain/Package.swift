// swift-tools-version: 6.2

import PackageDescription

// A package outside that asks for no trait. scripts/check-consumer fills in where Campanile is.
let package = Package(
  name: "plain",
  platforms: [.macOS(.v15)],
  products: [.library(name: "Plain", targets: ["Plain"])],
  dependencies: [.package(url: "CAMPANILE", from: "99.0.0")],
  targets: [
    .target(
      name: "Plain",
      dependencies: [
        .product(name: "Campanile", package: "campanile"),
        .product(name: "CampanileInspector", package: "campanile"),
      ]),
    // Must not compile.
    .target(
      name: "forgotten",
      dependencies: [
        .product(name: "Campanile", package: "campanile"),
        .product(name: "CampanileInspector", package: "campanile"),
        .product(name: "CampanileRelay", package: "campanile"),
        .product(name: "CampanileNATS", package: "campanile"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
