// swift-tools-version: 6.2

import PackageDescription

// A client whose only dependency is this checkout. scripts/check-client builds it beside a link to that.
let package = Package(
  name: "client",
  platforms: [.macOS(.v15)],
  dependencies: [.package(path: "../campanile")],
  targets: [
    .executableTarget(
      name: "one", dependencies: [.product(name: "Campanile", package: "campanile")]),
    .executableTarget(
      name: "plain",
      dependencies: [
        .product(name: "Campanile", package: "campanile"),
        .product(name: "CampanileKVO", package: "campanile"),
        .product(name: "CampanileTesting", package: "campanile"),
      ]),
    .executableTarget(
      name: "control", dependencies: [.product(name: "Campanile", package: "campanile")]),
  ]
)
