// swift-tools-version: 6.2

import PackageDescription

// A package outside: it sees what is public, and nothing else. scripts/check-consumer runs it.
let package = Package(
  name: "consumer",
  platforms: [.macOS(.v15)],
  dependencies: [.package(path: "../..")],
  targets: [
    .executableTarget(
      name: "consumer",
      dependencies: [.product(name: "Campanile", package: "campanile")],
      swiftSettings: [.treatAllWarnings(as: .error)])
  ],
  swiftLanguageModes: [.v6]
)
