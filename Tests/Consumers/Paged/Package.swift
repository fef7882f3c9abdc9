// swift-tools-version: 6.2

import PackageDescription

// A package outside that asks for the page. scripts/check-consumer fills in where Campanile is.
let package = Package(
  name: "paged",
  platforms: [.macOS(.v15)],
  products: [.library(name: "Paged", targets: ["Paged"])],
  dependencies: [.package(url: "CAMPANILE", from: "99.0.0", traits: [.defaults, "Page"])],
  targets: [
    .target(
      name: "Paged",
      dependencies: [
        .product(name: "Campanile", package: "campanile"),
        .product(name: "CampanileInspector", package: "campanile"),
      ]),
    .executableTarget(
      name: "paged", dependencies: ["Paged", .product(name: "Campanile", package: "campanile")],
      path: "Sources/paged-main"),
  ],
  swiftLanguageModes: [.v6]
)
